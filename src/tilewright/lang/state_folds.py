"""Folds and scans with reducers of the user's own, expanded into core operations.

A fold is a map over the kept axes of { the identity; reduce over the folded ones of { the elements; lift; merge };
finish }. Without `finish` there is one map for each state: a map gives one tile, and states that nobody uses vanish.
"""

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Block, SSAValue
from xdsl.ir import Region as Body

from tilewright.core.dtypes import i64
from tilewright.core.source import user_span
from tilewright.ir.attrs import Policy
from tilewright.ir.ops.regions import ReduceOp, YieldOp
from tilewright.ir.ops.tiles import ExtractOp, MapOp, ScanOp
from tilewright.ir.types import I64, DimAttr, SpaceAttr, TileType, element_attr, space_of
from tilewright.lang.base import StagedBase, use
from tilewright.lang.broadcast import joint_space
from tilewright.lang.context import Frame, current, emit
from tilewright.lang.operations import constant
from tilewright.lang.spaces import Axis
from tilewright.lang.state_reducer import State, StateReducer
from tilewright.lang.values import Scalar, Tile

__all__ = ["fold_states", "scan_states"]

Places = dict[DimAttr, SSAValue]
Choice = Callable[[State], Scalar]


def fold_states(sources: Sequence[StagedBase], axes: Sequence[Axis], reducer: StateReducer[Any], policy: Policy) -> Any:
    """The fold of the tiles over `axes`: one tile with `finish` or one state, else a tile for each state.

    Raises TileTypeError: TW209 for tiles that do not fit, TW225 for states of other types, TW226 for the policy.
    """
    reducer.require(policy)
    tiles = [use(source) for source in sources]
    space = joint_space("reduce", [space_of(tile) for tile in tiles])
    dims = {axis.dim for axis in axes}
    kept = SpaceAttr.of(axis for axis in space.axes if axis.dim not in dims)
    folded = SpaceAttr.of(axis for axis in space.axes if axis.dim in dims)

    def result(choose: Choice) -> Tile:
        return _mapped(kept, lambda places: choose(_folded(tiles, places, folded, reducer, policy)))

    return _results(reducer, result)


def scan_states(
    sources: Sequence[StagedBase], axis: Axis, reducer: StateReducer[Any], policy: Policy, *, exclusive: bool,
    reverse: bool,
) -> Any:  # fmt: skip
    """The running fold along one axis, with the results and errors of `fold_states`."""
    reducer.require(policy)
    tiles = [use(source) for source in sources]
    space = joint_space("scan", [space_of(tile) for tile in tiles])

    def lifted(place: int) -> SSAValue:
        return use(_mapped(space, lambda places: _scalars(reducer.lifted(_elements(tiles, places)))[place]))

    operands = [lifted(place) for place in range(len(reducer.state))]
    block = Block(arg_types=[element_attr(dtype) for dtype in reducer.state] * 2)
    frame = _entered("scan", block)
    count = len(reducer.state)
    emit(YieldOp(_merged(reducer, block.args[:count], block.args[count:], policy)))
    current("scan").leave(frame)
    op = emit(ScanOp(operands, _identity(reducer), axis.dim, policy, exclusive=exclusive, reverse=reverse,
                     body=Body(block)))  # fmt: skip
    if reducer.finisher is None:
        found = tuple(Tile(result, current("scan")) for result in op.results_)
        return found[0] if reducer.is_single else found
    results = list(op.results_)
    return _results(reducer, lambda choose: _mapped(space, lambda places: choose(_elements(results, places))))


def _results(reducer: StateReducer[Any], result: Callable[[Choice], Tile]) -> Any:
    """One tile of what `finish` gives, or a tile for each state."""
    if reducer.finisher is not None:
        return result(reducer.finisher)
    found = tuple(result(lambda state, place=place: state[place]) for place in range(len(reducer.state)))
    return found[0] if reducer.is_single else found


def _mapped(space: SpaceAttr, element: Callable[[Places], Scalar]) -> Tile:
    """A map whose element type is that of what its body gives."""
    block = Block(arg_types=[I64] * space.rank)
    frame = _entered("map", block, space)
    value = use(element(dict(frame.coordinates)))
    emit(YieldOp([value]))
    current("a map").leave(frame)
    op = emit(MapOp(TileType(value.type, space), Body(block)))
    return Tile(op.result, current("a map"))


def _folded(
    tiles: Sequence[SSAValue], places: Places, folded: SpaceAttr, reducer: StateReducer[Any], policy: Policy
) -> State:
    """The states of one fiber."""
    seeds = _identity(reducer)
    block = Block(arg_types=[I64] * folded.rank + [seed.type for seed in seeds])
    frame = _entered("reduce", block, folded)
    contribution = reducer.lifted(_elements(tiles, {**places, **frame.coordinates}))
    emit(YieldOp(_merged(reducer, block.args[folded.rank :], contribution, policy)))
    current("reduce").leave(frame)
    op = emit(ReduceOp(folded, seeds, policy=policy, body=Body(block)))
    return _scalars(op.results_)


def _merged(
    reducer: StateReducer[Any], states: Sequence[SSAValue], contribution: Sequence[SSAValue], policy: Policy
) -> list[SSAValue]:
    """The next states; a right fold has the contribution on the left."""
    pair = (contribution, states) if policy is Policy.FOLD_RIGHT else (states, contribution)
    first, second = map(_scalars, pair)
    return reducer.merged(first, second)


def _identity(reducer: StateReducer[Any]) -> list[SSAValue]:
    return [constant(dtype, value) for dtype, value in zip(reducer.state, reducer.identity, strict=True)]


def _elements(tiles: Sequence[SSAValue], places: Places) -> State:
    """One element of each tile; axes of extent 1 that are broadcast are read at 0."""
    return _scalars([emit(ExtractOp(tile, _coords(tile, places))).result for tile in tiles])


def _coords(tile: SSAValue, places: Places) -> list[SSAValue]:
    return [constant(i64, 0) if axis.extent == 1 else places[axis.dim] for axis in space_of(tile).axes]


def _scalars(values: Sequence[SSAValue]) -> State:
    capture = current("a reducer")
    return tuple(Scalar(value, capture) for value in values)


def _entered(kind: str, block: Block, space: SpaceAttr | None = None) -> Frame:
    capture = current(kind)
    coordinates: Places = {} if space is None else dict(zip(space.dims, block.args[: space.rank], strict=True))
    frame = Frame(kind, block, user_span(), capture.frame, coordinates)
    capture.enter(frame)
    return frame
