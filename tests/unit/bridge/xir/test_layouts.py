"""Index expressions as compiled code: ten of every kind at 16 points, lane by lane and as vectors."""

import numpy as np
import pytest

from tests.unit.backends.llvm.emit.program import Program
from tilewright.bridge.xir.lower.coords import Coord, CoordMath
from tilewright.bridge.xir.lower.layouts import layout_address
from tilewright.ir.index_expr import IndexExpr, coordinate, evaluate
from tilewright.ir.index_map import IndexMap
from tilewright.ir.layout_attr import LayoutAttr
from tilewright.ir.types import AxisAttr, DimAttr, SpaceAttr
from tilewright.numerics.arrays import Array
from tilewright.xir.types import I64

POINTS = 16
DIM = DimAttr.of(3)
i = coordinate(DIM)
EXPRESSIONS: dict[str, IndexExpr] = {
    "affine": i * 7 - 5,
    "quotient": (i - 4) // 3,
    "quotient by a negative": (i - 4) // -3,
    "remainder": (i - 4) % 3,
    "remainder by a negative": (i - 4) % -3,
    "xor": i ^ (i >> 1),
    "and": (i - 3) & 6,
    "left": (i - 3) << 4,
    "right, of a negative too": (i - 3) >> 60,
    "there and back": (i << 60) >> 60,
    "products of coordinates": (i * i + 1) * (i - 7),
}
SPACE = SpaceAttr.of([AxisAttr.of(DIM, POINTS)])
CELLS = SpaceAttr.of([AxisAttr.of(DimAttr.of(4), 1 << 40)])


def expected(expr: IndexExpr) -> Array:
    (found,) = evaluate([expr], {DIM: np.arange(POINTS)}, POINTS)
    return found.values


@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.parametrize("width", [1, POINTS])
def test_compiled_and_evaluated_expressions_agree(name: str, width: int) -> None:
    layout = LayoutAttr.of(IndexMap(SPACE, CELLS, (EXPRESSIONS[name],)))
    p = Program((I64, POINTS))
    math = CoordMath(p.b, width)
    with p.b.for_(0, POINTS, width) as loop:
        at = Coord(loop.index, 1 if width > 1 else 0)
        p.b.store(math.vector(layout_address(math, layout, {DIM.number: at})), p.buffers[0], loop.index)
    out = np.zeros(POINTS, np.int64)
    assert np.array_equal(p.interpreted(out)[0], expected(EXPRESSIONS[name]))
    assert np.array_equal(p.machine(out)[0], expected(EXPRESSIONS[name]))


def test_an_affine_layout_keeps_its_lane_step() -> None:
    p = Program((I64, POINTS))
    math = CoordMath(p.b, 8)
    layout = LayoutAttr.of(IndexMap(SPACE, CELLS, (EXPRESSIONS["affine"],)))
    found = layout_address(math, layout, {DIM.number: Coord(p.task, 1)})
    assert (found.step, found.is_vector) == (7, False)
