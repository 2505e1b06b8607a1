import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.ir.making import Make, space, view
from tilewright.core.source import UNKNOWN, Span
from tilewright.ir.builder import TileBuilder
from tilewright.ir.location import location_of, span_of
from tilewright.ir.ops.elementwise import NegOp
from tilewright.ir.ops.regions import ParallelOp
from tilewright.ir.ops.tiles import ConstantOp
from tilewright.ir.text import parse_module, print_module
from tilewright.ir.types import I64

PLACES = st.builds(
    Span,
    st.text(min_size=1),
    st.integers(1, 10**6),
    st.integers(0, 500),
    st.integers(1, 10**6),
    st.integers(0, 500),
    st.text(),
)


@given(PLACES, st.lists(PLACES, max_size=4))
def test_spans_survive_as_locations(span: Span, callers: list[Span]):
    caller: Span | None = None
    for outer in callers:
        caller = Span(outer.file, outer.line, outer.column, outer.end_line, outer.end_column, outer.function, caller)
    whole = Span(span.file, span.line, span.column, span.end_line, span.end_column, span.function, caller)
    assert span_of(location_of(whole)) == whole


@pytest.mark.parametrize("name", ["", "f", "C.<locals>.g", 'é\n\\"'])
def test_spans_survive_as_text(name: str):
    m = Make()
    span = Span('ü dir/k"1".py', 3, 5, 4, 9, name, Span("main.py", 1, 0, 1, 0))
    op = m.build.insert(ConstantOp(0, I64), span)
    parsed = parse_module(print_module(m.done(), locations=True))
    found = next(one for one in parsed.walk() if isinstance(one, ConstantOp))
    assert span_of(found) == span == span_of(op)


def test_unknown_stays_unknown():
    assert span_of(location_of(UNKNOWN)) is UNKNOWN


def test_a_value_has_the_place_of_its_definition():
    m = Make(view((0, 4)))
    region = m.put(ParallelOp(space((1, 2))))
    assert span_of(region.indices[0]) == span_of(region)
    assert span_of(m.args[0]) == span_of(m.kernel)
    with m.inside(region):
        op = m.put(NegOp(region.indices[0], I64))
    assert span_of(op.result) == span_of(op)


def test_the_builder_appends_where_it_is_told():
    m = Make()
    region = ParallelOp(space((1, 2)))
    build = TileBuilder(m.kernel.body.block)
    build.insert(region, UNKNOWN)
    with build.at(region.body.block):
        inner = build.insert(ConstantOp(0, I64), UNKNOWN)
    after = build.insert(ConstantOp(1, I64), UNKNOWN)
    assert inner.parent_op() is region
    assert after.prev_op is region
