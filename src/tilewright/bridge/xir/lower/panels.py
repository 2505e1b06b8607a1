"""The bodies of a contraction that compute an operand while its panels are packed."""

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.scf import YieldOp
from xdsl.ir import Block, Region, SSAValue

from tilewright.bridge.xir.lower.context import Lowering
from tilewright.bridge.xir.lower.convert import converted
from tilewright.bridge.xir.lower.coords import Coord
from tilewright.bridge.xir.lower.values import tile_value
from tilewright.core.dtypes import DType
from tilewright.ir.types import dtype_of, element_of, space_of
from tilewright.xir.ops import Side
from tilewright.xir.types import I64

__all__ = ["PanelBody", "fill_panels"]


@dataclass(frozen=True)
class PanelBody:
    """An operand at a point: `order` are the dimensions that the arguments of a body stand for, `vector` that along
    which its vectors run, `at` the coordinates of those around, `target` the type of the sums.
    """

    value: SSAValue
    order: tuple[int | None, int | None]
    vector: int | None
    at: Mapping[int, Coord]
    target: type[DType]


def fill_panels(cx: Lowering, panel: PanelBody, side: Side) -> None:
    """Write the body for whole vectors and, for vectors that are not turned, the one for parts of them."""
    _write(cx, panel, side.body, side.lanes, 2)
    if not side.turned:
        _write(cx, panel, side.tail, side.lanes, 3)


def _write(cx: Lowering, panel: PanelBody, region: Region, lanes: int, count: int) -> None:
    block = Block(arg_types=[I64] * count)
    region.add_block(block)
    point = dict(panel.at)
    for dim, argument in zip(panel.order, block.args, strict=False):
        if dim is not None:
            point[dim] = Coord(argument, int(dim == panel.vector))
    used = block.args[2] if count > 2 else None
    with cx.builder.at(block), cx.body(lanes, {}, None), cx.lanes_active(used):
        found = cx.ssa(tile_value(cx, panel.value, tuple(point[dim.number] for dim in space_of(panel.value).dims)))
        number = converted(cx.builder, found, dtype_of(element_of(panel.value)), panel.target)
        cx.builder.insert(YieldOp(cx.vectorised(number, lanes)))
