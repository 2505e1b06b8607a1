from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.ir import Operation

from tests.unit.ir.making import Make, space, tile
from tilewright.core.config import config
from tilewright.core.dtypes import f32
from tilewright.core.errors import InternalError
from tilewright.ir import rewrite
from tilewright.ir.hash import structural_hash
from tilewright.ir.kernel import Kernel
from tilewright.ir.location import span_of
from tilewright.ir.ops.elementwise import AbsOp, NegOp
from tilewright.ir.ops.regions import ParallelOp, YieldOp
from tilewright.ir.ops.tiles import ConstantOp, MapOp
from tilewright.ir.rewrite import TilePass, TileRewriter, run_pipeline
from tilewright.ir.text import parse_module
from tilewright.ir.types import I64, element_attr


def negated() -> tuple[Make, NegOp]:
    m = Make()
    op = m.put(NegOp(m.const(1), I64))
    m.put(AbsOp(op.result, I64))
    return m, op


def found(module: ModuleOp, kind: type[Operation]) -> list[Operation]:
    return [op for op in module.walk() if isinstance(op, kind)]


@dataclass(frozen=True)
class NegToAbs(TilePass):
    """A pass that does its job."""

    name: ClassVar[str] = "neg-to-abs"

    def apply(self, module: ModuleOp, rewriter: TileRewriter) -> None:
        for op in found(module, NegOp):
            rewriter.replace(op, [AbsOp(op.operands[0], I64)])


@dataclass(frozen=True)
class BreakTypes(TilePass):
    """A pass that leaves an invalid module."""

    name: ClassVar[str] = "break-types"

    def apply(self, module: ModuleOp, rewriter: TileRewriter) -> None:
        op = found(module, AbsOp)[0]
        rewriter.insert_before(op, [NegOp(op.operands[0], element_attr(f32))])


@dataclass(frozen=True)
class LosePlace(TilePass):
    """A pass that inserts behind the rewriter's back."""

    name: ClassVar[str] = "lose-place"

    def apply(self, module: ModuleOp, rewriter: TileRewriter) -> None:
        op = found(module, AbsOp)[0]
        assert op.parent is not None
        op.parent.insert_op_before(ConstantOp(0, I64), op)
        rewriter.changes += 1


@dataclass(frozen=True)
class Crash(TilePass):
    """A pass with a bug."""

    name: ClassVar[str] = "crash"

    def apply(self, module: ModuleOp, rewriter: TileRewriter) -> None:
        raise KeyError("surprise")


def test_a_replacement_takes_over_place_name_and_uses():
    m, op = negated()
    op.result.name_hint = "x"
    place = span_of(op)
    new = AbsOp(op.operand, I64)
    rewriter = TileRewriter()
    rewriter.replace(op, [new])
    assert span_of(new) == place
    assert new.result.name_hint == "x"
    assert [use.operation.name for use in new.result.uses] == ["tile.abs"]
    assert rewriter.changes > 0
    assert not found(m.module, NegOp)


def test_what_stands_inside_a_replacement_gets_a_place_too():
    m = Make()
    op = m.put(ConstantOp(0, tile((0, 4))))
    made = MapOp(tile((0, 4)))
    value = ConstantOp(0, element_attr(f32))
    made.body.block.add_ops([value, YieldOp([value.result])])
    TileRewriter().replace(op, [made])
    assert span_of(value) == span_of(made)
    assert not [one for one in m.kernel.walk() if isinstance(one.location, UnknownLoc)]


def test_a_replacement_of_another_type_is_refused():
    _, op = negated()
    with pytest.raises(InternalError, match="TW922"):
        TileRewriter().replace(op, [ConstantOp(0, element_attr(f32))])


def test_what_is_used_is_not_erased():
    _, op = negated()
    with pytest.raises(InternalError, match="TW922"):
        TileRewriter().erase(op)


def test_a_trace_counts_and_digests():
    m, _ = negated()
    trace = run_pipeline(m.done(), [NegToAbs(), NegToAbs()])
    first, second = trace.records
    assert (first.name, second.changes) == ("neg-to-abs", 0)
    assert first.changes > 0
    assert first.digest == second.digest
    assert len(trace.render().splitlines()) == 2


@pytest.fixture
def dumps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(rewrite, "config", lambda: replace(config(), dump_dir=tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("guilty", "what"), [(BreakTypes(), "tile.neg|neg"), (LosePlace(), "no place"), (Crash(), "KeyError")]
)
def test_the_guilty_pass_is_named_and_can_be_run_again(guilty: TilePass, what: str, dumps: Path):
    m, _ = negated()
    with pytest.raises(InternalError, match=what) as caught:
        run_pipeline(m.done(), [NegToAbs(), guilty])
    assert caught.value.pass_name == guilty.name
    reproducer = Path(caught.value.reproducer)
    assert reproducer.parent == dumps
    given = parse_module(reproducer.read_text())
    assert not found(given, NegOp)  # the innocent pass before has been applied
    with pytest.raises(InternalError):
        run_pipeline(given, [guilty])


@pytest.mark.usefixtures("dumps")
def test_a_reproducer_starts_from_the_original_and_leaves_it_alone():
    m, _ = negated()
    original = Kernel(m.done(), "original")
    text = original.text()
    with pytest.raises(InternalError) as caught:
        run_pipeline(original.module.clone(), [NegToAbs(), BreakTypes()], original=original)
    assert not found(parse_module(Path(caught.value.reproducer).read_text()), NegOp)
    assert original.text() == text


def test_a_pass_may_be_chosen_by_what_those_before_it_left():
    m, _ = negated()
    module = m.done()

    def passes() -> Iterator[TilePass]:
        yield NegToAbs()
        if not found(module, NegOp):
            yield NegToAbs()

    trace = run_pipeline(module, passes())
    assert len(trace.records) == 2
    assert trace.digest == structural_hash(module)


def test_modules_made_without_places_may_stay_so():
    m = Make()
    m.kernel.body.block.add_op(ParallelOp(space((1, 0))))
    last = m.kernel.body.block.last_op
    assert last is not None
    last.regions[0].block.add_op(YieldOp())
    run_pipeline(m.done(), [NegToAbs()])
