"""Nests that read tiles turned against their lanes: squares of lanes by lanes, loaded along the other dimension and
turned in registers, instead of an element at a time.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import log2

from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.analysis.limits import Limit
from tilewright.analysis.pointwise import PointRead, point_reads
from tilewright.bridge.xir.flow import tile_operands
from tilewright.bridge.xir.options import Use
from tilewright.bridge.xir.placement import Placement
from tilewright.bridge.xir.prices import EXPENSIVE
from tilewright.bridge.xir.records import NestPlan, TurnedRead, Unturned
from tilewright.bridge.xir.streams import Stored
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.regions import CarryingOp, ParallelOp
from tilewright.ir.types import DimAttr, SpaceAttr, dtype_of, element_of, space_of, view_type

__all__ = ["dims_across", "inlined", "refused_squares", "squares_of", "turn_beforehand", "turn_price"]

_WIDEST = 16  # lanes: a square of them still fits the registers
_CODE = 1000  # operations of all kinds of squares: functions have at most 2000
_STORED = 3  # operations that place and store a vector
_EXPENSIVE = 24  # operations that stand for one transcendental


def squares_of(stored: Stored, placement: Placement, value: SSAValue, nest: NestPlan) -> list[NestPlan]:
    """The nest in squares, for every dimension along which tiles lie that it reads across; none where it cannot be."""
    found = _candidates(stored, placement, value, nest)
    return [square for square in found if why_no_squares(placement, value, square) is None]


def refused_squares(stored: Stored, placement: Placement, value: SSAValue, nest: NestPlan) -> NestPlan:
    """The nest, with what it gathers though it lies along another dimension, and why."""
    if nest.across is not None:
        return nest
    for square in _candidates(stored, placement, value, nest):
        why = why_no_squares(placement, value, square)
        return replace(nest, turned=square.turned, refused=why or Unturned.EMPTY)
    return nest


def _candidates(stored: Stored, placement: Placement, value: SSAValue, nest: NestPlan) -> Iterator[NestPlan]:
    if nest.lane is None:
        return
    lane = DimAttr.of(nest.lane)
    reads = tuple(point_reads(value, lambda tile: stored.storage_of(tile) is not None))
    for number in nest.axes:
        across = DimAttr.of(number)
        if space_of(value).extent_of(across) == 1:
            continue  # one row: the tile does not move along it, so no vector of it can be loaded
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


def why_no_squares(placement: Placement, value: SSAValue, square: NestPlan) -> Unturned | None:
    """Why a nest that computes the tile does not go in squares, or None."""
    if placement.options.squares is Use.NEVER:
        return Unturned.ASKED
    if not 2 <= square.width <= _WIDEST:
        return Unturned.WIDTH
    owner = value.owner
    if isinstance(owner, Operation) and any(isinstance(op, CarryingOp) for op in owner.walk()):
        return Unturned.FOLD
    return Unturned.LONG if _operations(placement, value, square) > _CODE else None


def turn_beforehand(placement: Placement, nests: Iterable[NestPlan]) -> bool:
    """Keep the loads across nests too long for squares in buffers of their own, filled in squares, if these stay in the
    second cache. Whether there are any.
    """
    values = {number: value for value, number in placement.structure.numbers.items()}
    wanted = [(nest, read) for nest in nests if nest.refused is Unturned.LONG for read in nest.turned]
    kept = False
    for nest, read in wanted:
        value = values[read.value]
        if placement.is_inline(value) and _bytes(value) <= placement.machine.l2_bytes // 2:
            placement.keep(value, "turned before it is used")
            placement.demands.setdefault(value, space_of(value).dims[read.dims.index(nest.lane)].number)
            kept = True
    return kept


def _bytes(value: SSAValue) -> int:
    return space_of(value).volume * dtype_of(element_of(value)).itemsize


def _operations(placement: Placement, value: SSAValue, square: NestPlan) -> int:
    """What the rows of a square write, for whole squares and for each kind of partial ones."""
    computed = sum(_EXPENSIVE if isinstance(op, EXPENSIVE) else 1 for op in _computed(placement, value))
    extents = {axis.dim.number: axis.extent for axis in space_of(value).axes}
    kinds = 1
    for dim in square.axes[-2:]:
        extent = extents[dim]
        cut = _is_cut(placement.limits.get(DimAttr.of(dim)), extent)
        kinds *= 2 if cut else (extent >= square.width) + (extent % square.width > 0)
    turning = len(square.turned) * (1 + log2(square.width))
    return int(kinds * square.width * (computed + turning + _STORED))


def _is_cut(limit: Limit | None, extent: int) -> bool:
    """Whether only the program knows how much of its block is seen."""
    if limit is None:
        return False
    blocks = 1
    for atom in limit.offset.terms:
        root = atom.block.parent_op() if isinstance(atom, BlockArgument) else None
        if isinstance(atom, BlockArgument) and isinstance(root, ParallelOp):
            blocks *= root.space.extents[atom.index]
    return limit.size < blocks * extent


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
