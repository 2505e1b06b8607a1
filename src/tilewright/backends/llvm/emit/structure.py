"""Rules of loops, branches, calls and scratch."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import cast

from xdsl.dialects import scf
from xdsl.ir import Operation

from tilewright.backends.llvm.emission import Block
from tilewright.backends.llvm.emit.emitter import FUNCTION_PREFIX, Emitter, Rules, type_of
from tilewright.backends.llvm.types import Type, structure
from tilewright.backends.llvm.values import Value
from tilewright.xir import ops

__all__ = ["STRUCTURE", "returned_type"]


def _for(cx: Emitter, op: Operation) -> None:
    loop = cast(scf.ForOp, op)
    start, stop, step, *initial = cx.values(op.operands)
    index, *carries = loop.body.block.args
    with cx.f.loop(start, stop, step, initial) as each:
        cx.define(index, each.index)
        for argument, value in zip(carries, each.carried, strict=True):
            cx.define(argument, value)
        each.advance(*cx.values(cx.block(loop.body.block)))
    for result, value in zip(op.results, each.results, strict=True):
        cx.define(result, value)


def _if(cx: Emitter, op: Operation) -> None:
    branch, f = cast(scf.IfOp, op), cx.f
    arms = [region.block for region in (branch.true_region, branch.false_region) if region.blocks]
    places = [f.block("then"), f.block("else")][: len(arms)]
    after = f.block("after")
    f.branch_if(cx.value(branch.cond), places[0], places[1] if len(places) > 1 else after)
    arrivals: list[tuple[Block, Sequence[Value]]] = []
    for arm, place in zip(arms, places, strict=True):
        f.place(place)
        values = cx.values(cx.block(arm))
        arrivals.append((f.current, values))
        f.branch(after)
    f.place(after)
    for number, result in enumerate(op.results):
        phi = f.phi(type_of(result))
        for block, values in arrivals:
            phi.add(values[number], block)
        cx.define(result, phi)


def _call(cx: Emitter, op: Operation) -> None:
    call = cast(ops.CallOp, op)
    name, arguments = FUNCTION_PREFIX + call.callee.data, cx.values(call.arguments)
    kinds = [type_of(result) for result in op.results]
    if not kinds:
        cx.f.call_void(name, arguments)
        return
    returned = cx.f.call(returned_type(kinds), name, arguments)
    for number, (result, kind) in enumerate(zip(op.results, kinds, strict=True)):
        cx.define(result, returned if len(kinds) == 1 else cx.f.extract_value(returned, kind, number))


def returned_type(kinds: Sequence[Type]) -> Type:
    """What a function with these results returns: one value as it is, several in a structure."""
    return kinds[0] if len(kinds) == 1 else structure(*kinds)


def _alloc(cx: Emitter, op: Operation) -> None:
    slot = cx.schedule.scratch[op.results[0]]
    cx.define(op.results[0], cx.f.byte_offset(cx.scratch, slot.offset))


STRUCTURE: Rules = MappingProxyType({scf.ForOp: _for, scf.IfOp: _if, ops.CallOp: _call, ops.AllocOp: _alloc})
