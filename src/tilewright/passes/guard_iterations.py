"""The pass `guard-iterations`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.structure import is_in_map
from tilewright.ir.effects import effect_of
from tilewright.ir.location import span_of
from tilewright.ir.ops.access import LoadOp, StoreElementOp, StoreOp, UpdateOp
from tilewright.ir.ops.base import Effect
from tilewright.ir.ops.convert import SelectOp
from tilewright.ir.ops.elementwise import LogicalAndOp
from tilewright.ir.ops.regions import CarryingOp, WhenOp, YieldOp
from tilewright.ir.rewrite import TilePass, TileRewriter
from tilewright.ir.types import MemoryStateType, is_tile, space_of
from tilewright.ir.verify.regions import may_precede_when
from tilewright.passes.dissolve_loops import Declined
from tilewright.passes.masks import replace_mask

__all__ = ["GuardIterations"]


@dataclass(frozen=True)
class GuardIterations(TilePass):
    """Makes iterations that do nothing say so first, so that they can be skipped.

    Requires: a verified module.
    Ensures: a region that changes its carried values and writes only where one scalar condition holds ends its
        iterations early where it does not hold; what follows no longer asks for the condition.
    Rewrites: `serial (%x = %i) { %a = load %v mask %c; yield select %c, f(%x, %a), %x }` →
        `serial (%x = %i) { when %c; %a = load %v; yield f(%x, %a) }`.
    Declines when: a carried value changes, or something is written, where the condition is false; the condition is
        not computed from indices and scalars alone; the state of a memory is carried; an iteration touches fewer than
        `least` elements of tiles, so that computing it costs less than a branch; or the region stands in a map.
    """

    name: ClassVar[str] = "guard-iterations"
    least: int = 512

    def apply(self, module: ModuleOp, rewriter: TileRewriter) -> None:
        for region in [op for op in module.walk(reverse=True) if isinstance(op, CarryingOp)]:  # inner ones first
            condition = _sole_condition(region)
            if condition is None:
                continue
            where = f"line {span_of(region).line}: {region.name.removeprefix('tile.')}"
            reason = self._unfit(region, condition)
            if reason is not None:
                rewriter.note(f"{where} runs all its iterations: {reason.reason}")
                continue
            rewriter.note(
                f"{where} skips the iterations where the condition of line {span_of(condition).line} is false"
            )
            _rewrite(region, condition, rewriter)

    def _unfit(self, region: CarryingOp, condition: SSAValue) -> Declined | None:
        """Why skipping is not legal, or not worth it."""
        if any(isinstance(carry.type, MemoryStateType) for carry in region.carries):
            return Declined("it carries the state of a memory")
        return (
            _changes_otherwise(region, condition)
            or _writes_otherwise(region, condition)
            or _needs_more(region, condition)
            or self._too_small(region)
        )

    def _too_small(self, region: CarryingOp) -> Declined | None:
        touched = sum(space_of(value).volume for op in region.walk() for value in op.results if is_tile(value))
        return Declined("an iteration costs less than a branch") if touched < self.least else None


def _sole_condition(region: CarryingOp) -> SSAValue | None:
    """The scalar condition that something in the body is chosen or masked by at its outermost, when nothing but
    the proof is missing that all of it is.
    """
    if region.when is not None or is_in_map(region):
        return None
    for carry, value in zip(region.carries, _yielded(region), strict=True):
        chosen = _choice(value, carry)
        if chosen is not None:
            return chosen.condition
    if region.inits:
        return None
    masks = (_mask(op) for op in region.body.walk() if Effect.WRITE in effect_of(op))
    found = (each for mask in masks for each in _conjuncts(mask) if not is_tile(each))
    return next((each for each in found if _known_before(region, each)), None)


def _known_before(region: CarryingOp, value: SSAValue) -> bool:
    """Whether the value is not made in a body inside that of the region."""
    owner = value.owner
    if isinstance(owner, Operation) and owner.parent is region.body.block:
        return True
    return not region.is_ancestor(owner)


def _yielded(region: CarryingOp) -> Sequence[SSAValue]:
    last = region.body.block.last_op
    return tuple(last.values) if isinstance(last, YieldOp) else ()


def _choice(value: SSAValue, carry: SSAValue) -> SelectOp | None:
    """`select(scalar, something, carry)`."""
    op = value.owner
    if not isinstance(op, SelectOp) or op.on_false is not carry or is_tile(op.condition):
        return None
    return op if op.on_true.type == value.type else None


def _changes_otherwise(region: CarryingOp, condition: SSAValue) -> Declined | None:
    for index, (carry, value) in enumerate(zip(region.carries, _yielded(region), strict=True)):
        chosen = _choice(value, carry)
        if value is not carry and (chosen is None or chosen.condition is not condition):
            return Declined(f"carry {index} changes where the condition is false")
    return None


def _writes_otherwise(region: CarryingOp, condition: SSAValue) -> Declined | None:
    for op in region.body.walk():
        if Effect.WRITE in effect_of(op) and condition not in _conjuncts(_mask(op)):
            return Declined(f"line {span_of(op).line} writes where the condition is false")
    return None


def _mask(op: Operation) -> SSAValue | None:
    match op:
        case StoreOp() | UpdateOp():
            return op.mask
        case StoreElementOp():
            return op.predicate
        case _:
            return None


def _conjuncts(mask: SSAValue | None) -> Iterator[SSAValue]:
    """Conditions that all hold where a mask does."""
    if mask is None:
        return
    yield mask
    if isinstance(mask.owner, LogicalAndOp):
        yield from _conjuncts(mask.owner.lhs)
        yield from _conjuncts(mask.owner.rhs)


def _needs_more(region: CarryingOp, condition: SSAValue) -> Declined | None:
    for op in _computing(region, condition):
        if not may_precede_when(op):
            return Declined(f"the condition depends on more than indices and scalars, by line {span_of(op).line}")
    return None


def _computing(region: CarryingOp, value: SSAValue) -> list[Operation]:
    """The operations of the body that a value depends on, in their order."""
    found: set[Operation] = set()
    pending = [value]
    while pending:
        op = pending.pop().owner
        if isinstance(op, Operation) and op.parent is region.body.block and op not in found:
            found.add(op)
            pending += [operand for inner in op.walk() for operand in inner.operands]
    return [op for op in region.body.block.ops if op in found]


def _rewrite(region: CarryingOp, condition: SSAValue, rewriter: TileRewriter) -> None:
    first = region.body.block.first_op
    if first is None:
        return
    when = WhenOp(condition)
    when.location = region.location
    rewriter.insert_before(first, [when])
    for op in _computing(region, condition):
        op.detach()
        rewriter.insert_before(when, [op])
    for op in list(region.body.walk()):
        if isinstance(op, SelectOp) and op.condition is condition and op.on_true.type == op.result.type:
            rewriter.replace_values(op, [op.on_true])
        elif isinstance(op, LoadOp | StoreOp):
            _unmask(op, condition, rewriter)


def _unmask(op: LoadOp | StoreOp, condition: SSAValue, rewriter: TileRewriter) -> None:
    """The access without the condition in its mask, where that stands at its outermost."""
    if op.mask is condition:
        replace_mask(op, None, rewriter)
        return
    both = op.mask.owner if op.mask is not None else None
    if isinstance(both, LogicalAndOp) and condition in (both.lhs, both.rhs):
        other = both.rhs if both.lhs is condition else both.lhs
        if other.type == both.result.type:
            replace_mask(op, other, rewriter)
