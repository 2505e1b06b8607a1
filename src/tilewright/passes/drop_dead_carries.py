"""The pass `drop-dead-carries`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.ir.ops.regions import CarryingOp, YieldOp
from tilewright.ir.rewrite import TilePass, TileRewriter
from tilewright.passes.erase_dead_code import erase_dead, is_observable

__all__ = ["DropDeadCarries"]


@dataclass(frozen=True)
class DropDeadCarries(TilePass):
    """Removes carried values that nothing reads after the region, and ones that never change.

    Requires: a verified module.
    Ensures: every carried value reaches a result that is used, an effect, or another such value, and can change;
        what only served the others is gone too.
    Rewrites: `%a, %b = serial (%x = %i, %y = %j) { yield f(%x), g(%y) }` with `%b` unused → the same without `%y`;
        `%a = serial (%x = %i) { ... yield %x }` → `%i` wherever `%a` or `%x` was used.
    Declines when: an operation that writes, or one whose result stays, uses the carried value.
    """

    name: ClassVar[str] = "drop-dead-carries"

    def apply(self, module: ModuleOp, rewriter: TileRewriter) -> None:
        before = -1
        while before != rewriter.changes:  # what one region drops may free a value of any other
            before = rewriter.changes
            for op in [op for op in module.walk(reverse=True) if isinstance(op, CarryingOp)]:
                if op.parent is not None:  # not erased with the region around it
                    _drop(op, rewriter)
            for kernel in module.body.block.ops:
                erase_dead(kernel.regions[0].block, rewriter)


def _drop(op: CarryingOp, rewriter: TileRewriter) -> None:
    _forward_unchanged(op, rewriter)
    live = _live_carries(op)
    if len(live) < len(op.inits):
        _rebuild(op, live, rewriter)


def _forward_unchanged(op: CarryingOp, rewriter: TileRewriter) -> None:
    """A value that is yielded as it came, or as it began, is its initial value, inside and after."""
    last = op.body.block.last_op
    for init, arg, value, result in zip(op.inits, op.carries, _yielded(op), op.results, strict=True):
        if value in (arg, init):
            rewriter.forward(arg, init, past=last)
            rewriter.forward(result, init, past=None)


def _live_carries(op: CarryingOp) -> list[int]:
    """The positions of the carried values that are needed, in order."""
    position = {arg: index for index, arg in enumerate(op.carries)}
    yielded = _yielded(op)
    live = {index for index, result in enumerate(op.results) if result.first_use is not None}
    needed: set[SSAValue] = set()
    pending: list[SSAValue] = [yielded[index] for index in live]
    for inner in op.body.block.ops:
        if is_observable(inner) and inner.next_op is not None:  # the yield at the end asks for nothing by itself
            pending += _used_by(inner)
    while pending:
        value = pending.pop()
        if value in needed:
            continue
        needed.add(value)
        if value in position and position[value] not in live:
            live.add(position[value])
            pending.append(yielded[position[value]])
        owner = value.owner
        if isinstance(owner, Operation) and owner.parent is op.body.block:
            pending += _used_by(owner)
    return sorted(live)


def _used_by(op: Operation) -> Iterable[SSAValue]:
    """The operands of the operation and of everything in its bodies."""
    return [operand for inner in op.walk() for operand in inner.operands]


def _yielded(op: CarryingOp) -> Sequence[SSAValue]:
    last = op.body.block.last_op
    return list(last.operands) if isinstance(last, YieldOp) else []


def _rebuild(op: CarryingOp, live: Sequence[int], rewriter: TileRewriter) -> None:
    """The same region with the carried values at the positions `live` only."""
    block, dead = op.body.block, [index for index in range(len(op.inits)) if index not in live]
    last = block.last_op
    if last is not None:
        rewriter.replace(last, [YieldOp([last.operands[index] for index in live])], [])
    erase_dead(block, rewriter)
    for index in reversed(dead):
        block.erase_arg(block.args[op.space.rank + index])
    new = type(op).create(
        operands=[op.inits[index] for index in live],
        result_types=[op.results[index].type for index in live],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
        regions=[op.detach_region(0)],
    )
    rewriter.insert_before(op, [new])
    for index, result in zip(live, new.results, strict=True):
        rewriter.replace_uses(op.results[index], result)
    rewriter.erase(op)
