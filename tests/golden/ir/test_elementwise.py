"""The text of every elementwise operation, and that no two of them hash alike."""

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from tests.golden.golden import check_text
from tests.unit.ir.making import Make, tile
from tilewright.core.dtypes import DType, boolean, f16, f32, i32
from tilewright.ir.dialect import ELEMENTWISE_OPS
from tilewright.ir.hash import structural_hash
from tilewright.ir.ops.convert import BitcastOp, CastOp, SelectOp
from tilewright.ir.ops.elementwise import BinaryOp, CompareOp, ElementwiseOp, PredicateOp, UnaryOp
from tilewright.ir.text import parse_module, print_module
from tilewright.ir.verify import verify

GOLDEN = Path(__file__).parent / "elementwise.tile"
AXES = ((0, 4), (1, 8))


def each(kind: type[ElementwiseOp], x: SSAValue, y: SSAValue, dtype: type[DType], m: Make) -> ElementwiseOp:
    """One operation on operands of the element type."""
    if kind is CastOp:
        return CastOp(x, tile(*AXES, dtype=f16))
    if kind is BitcastOp:
        return BitcastOp(x, tile(*AXES, dtype=i32))
    if kind is SelectOp:
        return SelectOp(m.splat(tile(*AXES, dtype=boolean), 1), x, y, tile(*AXES, dtype=dtype))
    result = tile(*AXES, dtype=boolean if issubclass(kind, CompareOp | PredicateOp) else dtype)
    if issubclass(kind, UnaryOp):
        return kind(x, result)
    assert issubclass(kind, BinaryOp), kind
    return kind(x, y, result)


def module(*kinds: type[ElementwiseOp]) -> ModuleOp:
    """Every operation once, on the first of f32, i32 and boolean that it takes."""
    m = Make()
    operands = {
        dtype: (m.splat(tile(*AXES, dtype=dtype)), m.splat(tile(*AXES, dtype=dtype), 1))
        for dtype in (f32, i32, boolean)
    }
    for kind in kinds:
        takes = [dtype for dtype in operands if not issubclass(kind, UnaryOp | BinaryOp) or kind.accepts(dtype)]
        m.put(each(kind, *operands[takes[0]], takes[0], m))
    return m.done()


def test_the_text(golden_accept: bool) -> None:
    every = module(*ELEMENTWISE_OPS)
    assert not verify(every)
    check_text(GOLDEN, print_module(every), accept=golden_accept)
    assert parse_module(GOLDEN.read_text()).is_structurally_equivalent(every)


def test_no_two_hash_alike() -> None:
    assert len({structural_hash(module(kind)) for kind in ELEMENTWISE_OPS}) == len(ELEMENTWISE_OPS)
