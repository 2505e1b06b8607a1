import pytest
from xdsl.dialects.builtin import StringAttr

from tests.unit.ir.making import Make, space, tile, view
from tilewright.core.dtypes import ALL_DTYPES, DType, boolean, f16, f32, float8_e5m2, i8, u8
from tilewright.core.errors import InternalError
from tilewright.ir.kernel import Kernel
from tilewright.ir.listing import number_text, type_text
from tilewright.ir.text import parse_module, print_module
from tilewright.ir.types import MemoryType, element_attr


def test_equal_types_share_one_alias():
    m = Make(view((0, 4)), view((0, 4)))
    m.splat(tile((0, 4)))
    m.splat(tile((0, 4)))
    text = print_module(m.done())
    assert text.count("!tile.view<") == 1
    assert text.count("!tile.tile<") == 1


def test_locations_appear_only_when_asked_for():
    module = Make().done()
    assert "loc(" not in print_module(module)
    assert "loc(" in print_module(module, locations=True)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_every_element_type_survives(dtype: type[DType]):
    m = Make(view((0, 4), dtype=dtype))
    m.const(1, dtype)
    m.splat(tile((0, 4), dtype=dtype), 1)
    parsed = parse_module(print_module(m.done()))
    assert m.module.is_structurally_equivalent(parsed)


def test_names_may_be_any_text():
    m = Make(labels={0: "größe", 1: 'a "b"\n'})
    m.kernel.properties["sym_name"] = StringAttr("κ\\")
    assert parse_module(print_module(m.done())).is_structurally_equivalent(m.module)


def test_constants_are_exact():
    m = Make()
    m.const(0x7FA00001, f32)  # a signalling NaN with a payload
    assert "<0x7fa00001>" in print_module(m.done())


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("builtin.module {\n  %0 = tile.neg oops : i64 -> i64\n}", 2, 17),
        ("!t0 = !tile.tile<[0:x] of f32>", 1, 21),
        ('"tile.nothing"() : () -> ()', 1, 15),
        ("%0 = tile.neg %1 : i64 -> i64", 1, 0),
        ("", 1, 1),
        ("#l = #tile.layout<[0:4] -> [1:4], [axis 1] gives [0]>", 1, 0),
        ("#l = #tile.layout<[0:4] -> [1:4], [oops 1] gives [0]>", 1, 41),
    ],
)
def test_bad_text_is_a_coded_error_with_a_place(text: str, line: int, column: int):
    with pytest.raises(InternalError, match="TW920") as caught:
        parse_module(text, "bad.tile")
    span = caught.value.diagnostic.span
    assert (span.file, span.line) == ("bad.tile", line)
    assert column in (0, span.column)


@pytest.mark.parametrize(
    ("bits", "dtype", "text"),
    [
        (0x3F800000, f32, "1.0"),
        (0xFF800000, f32, "-inf"),
        (0x3C01, f16, "1.0009765625"),
        (0x80, i8, "-128"),
        (0x80, u8, "128"),
        (1, boolean, "True"),
        (0x3C, float8_e5m2, "1.0"),
        (0x100, i8, "0x100"),
    ],
)
def test_numbers_for_people(bits: int, dtype: type[DType], text: str):
    assert number_text(bits, element_attr(dtype)) == text


def test_types_for_people():
    assert type_text(tile((0, 64), (1, 8))) == "f32[0:64, 1:8]"
    assert type_text(view((0, 4), const=True)) == "const f32[0:4]"
    assert type_text(MemoryType(element_attr(f32), space())) == "memory f32[]"


def test_equal_labels_are_told_apart():
    m = Make(view((0, 4), (1, 4)), labels={0: "m", 1: "m"})
    assert "f32[m:4, m.1:4]" in Kernel(m.done(), "k").text(short=True)
