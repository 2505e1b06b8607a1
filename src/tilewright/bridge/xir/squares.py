"""Nests that read tiles turned against their lanes: squares of lanes by lanes, loaded along the other dimension and
turned in registers, instead of an element at a time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import log2

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.pointwise import PointRead, point_reads
from tilewright.bridge.xir.flow import tile_operands
from tilewright.bridge.xir.placement import EXPENSIVE, Placement
from tilewright.bridge.xir.records import NestPlan, TurnedRead
from tilewright.bridge.xir.streams import Stored
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.regions import CarryingOp
from tilewright.ir.types import DimAttr, SpaceAttr, space_of, view_type

__all__ = ["dims_across", "inlined", "squares_of", "turn_price", "why_gathered"]

_WIDEST = 16  # lanes: a square of them still fits the registers
_CODE = 512  # operations that the rows of one square may write
_EXPENSIVE = 24  # operations that stand for one transcendental


def squares_of(stored: Stored, placement: Placement, value: SSAValue, nest: NestPlan) -> list[NestPlan]:
    """The nest in squares, for every dimension along which tiles lie that it reads across; none where it cannot be."""
    found = list(_candidates(stored, placement, value, nest))
    return [] if found and why_no_squares(placement, value, nest.width) is not None else found


def why_gathered(stored: Stored, placement: Placement, value: SSAValue, nest: NestPlan) -> str:
    """Why a nest gathers what it could turn; empty when there is nothing to turn."""
    if nest.across is not None or not list(_candidates(stored, placement, value, nest)):
        return ""
    return why_no_squares(placement, value, nest.width) or "squares would stay too empty"


def _candidates(stored: Stored, placement: Placement, value: SSAValue, nest: NestPlan) -> Iterator[NestPlan]:
    if nest.lane is None:
        return
    lane = DimAttr.of(nest.lane)
    reads = tuple(point_reads(value, lambda tile: stored.storage_of(tile) is not None))
    for number in nest.axes:
        across = DimAttr.of(number)
        turned = tuple(
            _record(placement, read) for read in reads if _is_turned(read, _strides(stored, read, value), lane, across)
        )
        if turned and number != nest.lane:
            axes = (*(dim for dim in nest.axes if dim not in (number, nest.lane)), number, nest.lane)
            yield replace(nest, axes=axes, across=number, turned=turned)


def dims_across(store: StoreOp) -> set[DimAttr]:
    """The dimensions along which loads lie that a store reads at its own point, and across its own lines."""
    space, strides = space_of(store.value), view_type(store.view).strides
    lanes = [dim for dim, stride in zip(space.dims, strides, strict=True) if stride == 1]
    reads = list(point_reads(store.value, lambda _: False))
    return {
        across
        for lane in lanes
        for across in space.dims
        if any(_is_turned(read, _view_strides(read), lane, across) for read in reads)
    }


def why_no_squares(placement: Placement, value: SSAValue, width: int) -> str | None:
    """Why a nest that computes the tile cannot go in squares, or None."""
    if not 2 <= width <= _WIDEST:
        return f"{width} lanes make no square that fits the registers"
    owner = value.owner
    if isinstance(owner, Operation) and any(isinstance(op, CarryingOp) for op in owner.walk()):
        return "the tile holds a fold"
    code = width * sum(_EXPENSIVE if isinstance(op, EXPENSIVE) else 1 for op in _computed(placement, value))
    return f"its rows would take {code} operations, more than {_CODE}" if code > _CODE else None


def _computed(placement: Placement, value: SSAValue) -> Iterator[Operation]:
    if isinstance(value.owner, Operation):
        for op in (value.owner, *inlined(placement, value.owner, set())):
            yield from op.walk()


def inlined(placement: Placement, op: Operation, found: set[Operation]) -> set[Operation]:
    """The operations that computing one element of `op` repeats."""
    for value in tile_operands(op):
        owner = value.owner
        if isinstance(owner, Operation) and owner not in found and placement.is_inline(value):
            found.add(owner)
            inlined(placement, owner, found)
    return found


def turn_price(nest: NestPlan, space: SpaceAttr) -> float:
    """Vector operations that loading and turning take instead of gathers; negative where they are fewer."""
    extents = {axis.dim.number: axis.extent for axis in space.axes}
    lane, across = (extents[dim] for dim in (nest.axes[-1], nest.axes[-2]))
    others = space.volume // max(lane * across, 1)
    vectors = -(-lane // nest.width)
    squares = others * vectors * -(-across // nest.width) * nest.width * (1 + log2(nest.width) / 2)
    gathers = others * vectors * across * nest.width
    return len(nest.turned) * (squares - gathers)


def _record(placement: Placement, read: PointRead) -> TurnedRead:
    return TurnedRead(
        placement.structure.numbers[read.value], tuple(None if dim is None else dim.number for dim in read.dims)
    )


def _is_turned(read: PointRead, strides: Sequence[int] | None, lane: DimAttr, across: DimAttr) -> bool:
    """Whether the elements lie side by side along `across` and far from each other along the lanes."""
    along, beside = read.place_of(lane), read.place_of(across)
    if strides is None or along is None or beside is None:
        return False
    return strides[along] not in (0, 1) and strides[beside] == 1


def _strides(stored: Stored, read: PointRead, value: SSAValue) -> Sequence[int] | None:
    """Element strides by axis, as the tile lies where it is read."""
    storage = None if read.value is value else stored.storage_of(read.value)
    if storage is None:
        return _view_strides(read)
    if storage.layout is not None:
        return None
    return [storage.stride_of(dim.number) or 0 for dim in space_of(read.value).dims]


def _view_strides(read: PointRead) -> Sequence[int] | None:
    owner = read.value.owner
    return view_type(owner.view).strides if isinstance(owner, LoadOp) else None
