"""Folds and scans over the axes of a tile, expanded into core operations.

`reduce(x[m, n], n, add)` is a map over [m] of { identity; reduce over [n] of { x(m, n); state + element } }.
Folds of half types carry f32 and round once, at the end.
"""

from collections.abc import Sequence
from typing import Any, TypeVar, overload

from xdsl.ir import Block, SSAValue
from xdsl.ir import Region as Body

from tilewright.core.codes.capture import REGION_POLICY
from tilewright.core.codes.types import EMPTY_FOLD, NO_SUCH_AXIS
from tilewright.core.dtypes import DType
from tilewright.core.errors import CaptureError, TileTypeError
from tilewright.core.source import user_span
from tilewright.ir.attrs import Policy
from tilewright.ir.ops.regions import ReduceOp, YieldOp
from tilewright.ir.ops.tiles import ExtractOp, ScanOp
from tilewright.ir.types import I64, AxisAttr, DimAttr, SpaceAttr, element_attr, space_of
from tilewright.lang.base import StagedBase, use
from tilewright.lang.context import Frame, current, emit
from tilewright.lang.contraction import accumulator
from tilewright.lang.maps import build_map
from tilewright.lang.nests import checked_policy
from tilewright.lang.operations import cast_to, constant, typed
from tilewright.lang.reducers import Reducer
from tilewright.lang.spaces import Axis
from tilewright.lang.state_folds import fold_states, scan_states
from tilewright.lang.state_reducer import StateReducer
from tilewright.lang.values import Scalar, Tile

__all__ = ["fold_left", "fold_right", "ordered_tree", "reduce", "scan", "unordered_tree"]

unordered_tree = Policy.UNORDERED_TREE
ordered_tree = Policy.ORDERED_TREE
fold_left = Policy.FOLD_LEFT
fold_right = Policy.FOLD_RIGHT

Axes = Axis | Sequence[Axis]


Tiles = Tile | Sequence[Tile]
R = TypeVar("R")


@overload
def reduce(tile: Tile, axis: Axes, reducer: Reducer, *, policy: Policy | str = Policy.UNORDERED_TREE) -> Tile: ...
@overload
def reduce(tile: Tiles, axis: Axes, reducer: StateReducer[R], *, policy: Policy | str = Policy.UNORDERED_TREE) -> R: ...
def reduce(
    tile: Tiles, axis: Axes, reducer: Reducer | StateReducer[Any], *, policy: Policy | str = Policy.UNORDERED_TREE
) -> Any:
    """The tile folded over one or more of its axes, which the result lacks. No axes: the tile itself.

    With a reducer of your own several tiles may be folded together, and the result is what `reducer(...)` says.
    Raises TileTypeError: TW214 for an axis the tile lacks, TW215 for the maximum or minimum of nothing, TW225 and TW226
    for a reducer of your own; CaptureError (TW130) for an unknown policy and for what is no reducer.
    """
    axes = as_axes(axis)
    kind = _checked("reduce", reducer, policy)
    if isinstance(reducer, StateReducer):
        return fold_states(_sources("reduce", tile, axes), axes, reducer, kind)
    source = typed(tile, "reduce")
    check_axes("reduce", source, axes)
    if not axes:
        return tile
    _check_elements(reducer, axes)
    return Tile(_expanded(source, axes, reducer, kind), current("reduce"))


def as_axes(axis: Axes) -> tuple[Axis, ...]:
    """One axis or several, as a tuple; `check_axes` looks at what is neither."""
    return tuple(axis) if isinstance(axis, Sequence) else (axis,)


def _checked(op: str, reducer: object, policy: Policy | str) -> Policy:
    if not isinstance(reducer, Reducer | StateReducer):
        what, reason = f"{op} with {reducer!r}", "a reducer says how two elements merge, and what stands for none"
        remedy = "use add, maximum, minimum, ... or write one with @tile.reducer; it comes after the axis"
        raise CaptureError(REGION_POLICY.at(user_span(), what=what, reason=reason, remedy=remedy))
    return checked_policy(policy)


def check_axes(op: str, tile: StagedBase, axes: Sequence[Axis]) -> None:
    """Raises TileTypeError (TW214) for an axis that the tile lacks, or that is no axis at all."""
    for axis in axes:
        if not _has(tile, axis):
            shown = f"`{axis.label}`" if isinstance(axis, Axis) else repr(axis)  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TileTypeError(NO_SUCH_AXIS.at(user_span(), op=op, axis=shown, tile=tile.describe()))


def _has(tile: StagedBase, axis: object) -> bool:
    return isinstance(axis, Axis) and tile.space.extent_of(axis.dim) is not None


def _sources(op: str, tiles: Tiles, axes: Sequence[Axis]) -> list[StagedBase]:
    """The tiles that are folded together; every axis is in one of them (TW214)."""
    sources = [typed(tile, op) for tile in (tiles if isinstance(tiles, tuple | list) else (tiles,))]
    for axis in axes:
        holder = next((each for each in sources if _has(each, axis)), sources[0])
        check_axes(op, holder, (axis,))
    return sources


def _check_elements(reducer: Reducer, axes: Sequence[Axis]) -> None:
    if reducer.needs_elements and any(axis.extent == 0 for axis in axes):
        shown = " and ".join(f"`{axis.label}`" for axis in axes)
        raise TileTypeError(EMPTY_FOLD.at(user_span(), reducer=reducer, axes=shown))


def _expanded(source: StagedBase, axes: Sequence[Axis], reducer: Reducer, policy: Policy) -> SSAValue:
    tile, space = use(source), source.space
    folded = [item for item in space.axes if any(item.dim == axis.dim for axis in axes)]
    kept = SpaceAttr.of(item for item in space.axes if item not in folded)

    wide = accumulator(source.dtype)

    def fold(indices: Sequence[SSAValue]) -> SSAValue:
        fixed = dict(zip(kept.dims, indices, strict=True))
        return _fold(tile, fixed, folded, reducer, policy, wide)

    return cast_to(source.dtype, StagedBase(build_map(wide, kept, fold), current("reduce")))


def _fold(
    tile: SSAValue, fixed: dict[DimAttr, SSAValue], folded: Sequence[AxisAttr], reducer: Reducer, policy: Policy,
    wide: type[DType],
) -> SSAValue:  # fmt: skip
    """The fold of one fiber, as a scalar of the type it is carried in."""
    seed = constant(wide, reducer.identity(wide))
    space = SpaceAttr.of(folded)
    capture, span = current("reduce"), user_span()
    block = Block(arg_types=[I64] * space.rank + [seed.type])
    *indices, state = block.args
    frame = Frame("reduce", block, span, capture.frame, dict(zip(space.dims, indices, strict=True)))
    capture.enter(frame)
    places = {**fixed, **frame.coordinates}
    element = emit(ExtractOp(tile, [places[dim] for dim in space_of(tile).dims])).result
    contribution = Scalar(cast_to(wide, StagedBase(element, capture)), capture)
    total = Scalar(state, capture)
    pair = (contribution, total) if policy is Policy.FOLD_RIGHT else (total, contribution)
    emit(YieldOp([use(reducer(*pair))]), span)
    capture.leave(frame)
    return emit(ReduceOp(space, [seed], policy=policy, body=Body(block)), span).results[0]


@overload
def scan(
    tile: Tile, axis: Axis, reducer: Reducer, *, policy: Policy | str = Policy.UNORDERED_TREE,
    exclusive: bool = False, reverse: bool = False,
) -> Tile: ...  # fmt: skip
@overload
def scan(
    tile: Tiles, axis: Axis, reducer: StateReducer[R], *, policy: Policy | str = Policy.UNORDERED_TREE,
    exclusive: bool = False, reverse: bool = False,
) -> R: ...  # fmt: skip
def scan(
    tile: Tiles, axis: Axis, reducer: Reducer | StateReducer[Any], *, policy: Policy | str = Policy.UNORDERED_TREE,
    exclusive: bool = False, reverse: bool = False,
) -> Any:  # fmt: skip
    """The running fold along one axis: element i folds the elements up to i (before i when `exclusive`), from the far
    end when `reverse`: as of the tile turned round, turned back.

    With a reducer of your own several tiles may be scanned together, and the result is what `reducer(...)` says. A
    `fold_right` begins anew at every element, so that n elements take n (n + 1) / 2 steps.

    Raises TileTypeError: TW214 for an axis the tile lacks, TW225 and TW226 for a reducer of your own; CaptureError
    (TW130) for an unknown policy and for what is no reducer.
    """
    kind = _checked("scan", reducer, policy)
    if isinstance(reducer, StateReducer):
        sources = _sources("scan", tile, (axis,))
        return scan_states(sources, axis, reducer, kind, exclusive=exclusive, reverse=reverse)
    return _scanned(typed(tile, "scan"), axis, reducer, kind, exclusive=exclusive, reverse=reverse)


def _scanned(source: StagedBase, axis: Axis, reducer: Reducer, kind: Policy, *, exclusive: bool, reverse: bool) -> Tile:
    check_axes("scan", source, (axis,))
    capture = current("scan")
    wide = accumulator(source.dtype)
    operand, seed = cast_to(wide, source), constant(wide, reducer.identity(wide))
    block = Block(arg_types=[element_attr(wide)] * 2)
    frame = Frame("scan", block, user_span(), capture.frame)
    capture.enter(frame)
    state, element = (Scalar(argument, capture) for argument in block.args)
    pair = (element, state) if kind is Policy.FOLD_RIGHT else (state, element)
    emit(YieldOp([use(reducer(*pair))]))
    capture.leave(frame)
    op = emit(ScanOp([operand], [seed], axis.dim, kind, exclusive=exclusive, reverse=reverse, body=Body(block)))
    return Tile(cast_to(source.dtype, StagedBase(op.results[0], capture)), capture)
