"""Where a contraction ends: how far what follows it is computed in its own registers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.access import Limits, is_inside
from tilewright.analysis.forms import Forms
from tilewright.analysis.structure import Structure
from tilewright.bridge.xir.flow import following
from tilewright.bridge.xir.options import XirOptions
from tilewright.bridge.xir.records import LaneChoice
from tilewright.core.machine import Machine
from tilewright.ir.ops import elementwise
from tilewright.ir.ops.access import StoreOp
from tilewright.ir.ops.regions import YieldOp
from tilewright.ir.ops.tiles import ExtractOp, MapOp, MmaOp
from tilewright.ir.types import DimAttr, element_of, is_tile, space_of, view_type

__all__ = ["Setting", "Sink", "sink_of", "store_stride"]


@dataclass(frozen=True)
class Setting:
    """What a contraction is planned in."""

    structure: Structure
    forms: Forms
    limits: Limits
    machine: Machine
    choice: LaneChoice
    options: XirOptions
    may_alias: bool
    absorbed: Mapping[Operation, MmaOp]


@dataclass(frozen=True)
class Sink:
    """Where the contraction ends: the operation, the value it computes last, and everything absorbed on the way."""

    op: Operation
    value: SSAValue
    absorbed: tuple[Operation, ...]


def sink_of(op: MmaOp, setting: Setting) -> Sink:
    """Follow elementwise operations of the same axes that only the product feeds, as far as one value comes out of
    them, up to a store that needs no guard.
    """
    best, value, absorbed = Sink(op, op.result, ()), op.result, list[Operation]()
    for user in _readers(op):
        if user in setting.absorbed:
            break
        if isinstance(user, StoreOp) and user.value is value and _feeds_only(op, [*absorbed, user]):
            return Sink(user, value, (*absorbed, user)) if _may_end_in(user, op, setting) else best
        if not (isinstance(user, elementwise.ElementwiseOp) or _turns(user)) or not _same_axes(user.results[0], op):
            break
        absorbed.append(user)
        value = user.results[0]
        if _fits(value, op) and _feeds_only(op, absorbed):
            best = Sink(user, value, tuple(absorbed))
    return best


def _readers(op: MmaOp) -> Iterator[Operation]:
    """What depends on a product in its own block, in order."""
    reached = {op.result}
    for user in following(op):
        if any(operand in reached for inner in user.walk() for operand in inner.operands):
            reached.update(user.results)
            yield user


def _feeds_only(op: MmaOp, absorbed: list[Operation]) -> bool:
    """Whether nothing else reads the product, or anything that is computed from it before the last operation."""
    inside = set(absorbed)
    values = [op.result, *(item.results[0] for item in absorbed[:-1])]
    return all(use.operation in inside or use.operation.parent_op() in inside for value in values for use in value.uses)


def _turns(op: Operation) -> bool:
    """Whether a map does nothing but turn the axes of one tile."""
    if not isinstance(op, MapOp) or [inner.name for inner in op.body.block.ops] != [ExtractOp.name, YieldOp.name]:
        return False
    extract = op.body.block.first_op
    if not isinstance(extract, ExtractOp) or len(op.results) != 1:
        return False
    dims = space_of(extract.tile).dims
    own = [op.body.block.args[op.space.dims.index(dim)] for dim in dims if dim in op.space.dims]
    return own == list(extract.coords)


def _same_axes(result: SSAValue, op: MmaOp) -> bool:
    return is_tile(result) and set(space_of(result).axes) == set(space_of(op.result).axes)


def _fits(result: SSAValue, op: MmaOp) -> bool:
    """Whether one vector of sums becomes one of results."""
    return _same_axes(result, op) and element_of(result) == element_of(op.result)


def _may_end_in(store: StoreOp, op: MmaOp, setting: Setting) -> bool:
    if store.mask is not None or setting.may_alias or element_of(store.value) != element_of(op.result):
        return False
    return is_inside(store, setting.limits, setting.forms)


def store_stride(op: StoreOp, lane: DimAttr | None) -> int:
    return 1 if lane is None else view_type(op.view).strides[space_of(op.value).dims.index(lane)]
