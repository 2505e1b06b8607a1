"""The rules of XIR, checked in one walk that collects every fault: structure, dominance, calls, types."""

from collections.abc import Iterable, Iterator
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilewright.core.codes.internal import MALFORMED_XIR
from tilewright.core.diagnostics import Diagnostic
from tilewright.core.errors import InternalError
from tilewright.xir import ops
from tilewright.xir.location import span_of
from tilewright.xir.pack_op import PackOp
from tilewright.xir.rules import RULES, Fault
from tilewright.xir.types import buffer_type, vector_of

__all__ = ["verify", "verify_or_raise"]

_TOP = frozenset({ops.FuncOp, ops.KernelOp})
_TERMINATORS = frozenset({scf.YieldOp, ops.ReturnOp})


def verify(module: ModuleOp) -> tuple[Diagnostic, ...]:
    """Everything wrong with `module`, in order of the text; empty for a module that passes and emitters may take."""
    return tuple(MALFORMED_XIR.at(span_of(op), rule=rule, what=what) for op, (rule, what) in _Walk(module).faults())


def verify_or_raise(module: ModuleOp) -> None:
    """Raises InternalError (TW942) with every fault of `module`."""
    faults = verify(module)
    if faults:
        raise InternalError(*faults)


def _functions(module: ModuleOp) -> dict[str, ops.FuncOp]:
    return {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, ops.FuncOp)}


class _Walk:
    """One walk; `_visible` holds the values that the current operation may use."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._functions = _functions(module)
        self._visible: set[SSAValue] = set()

    def faults(self) -> Iterator[tuple[Operation, Fault]]:
        names: set[str] = set()
        for op in self._module.body.block.ops:
            if not isinstance(op, ops.FuncOp | ops.KernelOp):
                yield op, ("top-level", f"{op.name} in a module")
                continue
            if op.sym_name.data in names:
                yield op, ("symbol", f"{op.sym_name.data} is defined twice")
            names.add(op.sym_name.data)
            self._visible = set()
            yield from self._block(op.body.block, op)

    def _block(self, block: Block, owner: Operation) -> Iterator[tuple[Operation, Fault]]:
        visible = self._visible
        defined: list[SSAValue] = list(block.args)
        visible.update(defined)
        for op in block.ops:
            for value in op.operands:
                if value not in visible:
                    yield op, self._unseen(op, value)
            for fault in self._own_faults(op, owner):
                yield op, fault
            for region in op.regions:
                for inner in region.blocks:
                    yield from self._block(inner, op)
            defined.extend(op.results)
            visible.update(op.results)
        yield from ((owner, fault) for fault in _ending(block, owner))
        visible.difference_update(defined)

    def _unseen(self, op: Operation, value: SSAValue) -> Fault:
        known: set[SSAValue] = set()
        _define_until(op, self._module.body.block, known)
        if value in known:
            return "region-escape", f"{op.name} uses a value of a region that has ended"
        return "dominance", f"{op.name} uses a value before its definition"

    def _own_faults(self, op: Operation, owner: Operation) -> Iterator[Fault]:
        kind = type(op)
        rule = RULES.get(kind)
        if rule is None:
            yield "unknown-operation", f"{op.name} does not belong to XIR"
        elif kind in _TOP:
            yield "nesting", f"{op.name} inside {owner.name}"
        else:
            yield from rule(op)
        if kind is ops.AllocOp and not isinstance(owner, ops.KernelOp):
            yield "alloc-place", f"{op.name} inside {owner.name}"
        if kind in _TERMINATORS and op.next_op is not None:
            yield "terminator", f"{op.name} is not the end of its block"
        if kind is ops.CallOp:
            yield from self._call(cast(ops.CallOp, op))

    def _call(self, op: ops.CallOp) -> Iterator[Fault]:
        function = self._functions.get(op.callee.data)
        if function is None:
            yield "callee", f"no function {op.callee.data}"
            return
        given, taken = _types(op.operands), _types(function.body.block.args)
        if given != taken:
            yield "call-types", f"{op.callee.data} takes ({_shown(taken)}) and was given ({_shown(given)})"
        ending = function.body.block.last_op
        returned = _types(ending.operands) if ending is not None else []
        if _types(op.results) != returned:
            yield "call-types", f"{op.callee.data} returns ({_shown(returned)})"


def _define_until(op: Operation, block: Block, known: set[SSAValue]) -> bool:
    """Adds what is defined before `op` in the text of a block. Whether it was found there."""
    known.update(block.args)
    for other in block.ops:
        if other is op or any(_define_until(op, inner, known) for region in other.regions for inner in region.blocks):
            return True
        known.update(other.results)
    return False


def _ending(block: Block, owner: Operation) -> Iterator[Fault]:
    wanted = ops.ReturnOp if isinstance(owner, ops.FuncOp | ops.KernelOp) else scf.YieldOp
    last = block.last_op
    if not isinstance(last, wanted):
        yield "terminator", f"a body of {owner.name} ends without {wanted.name}"
        return
    if isinstance(owner, ops.FuncOp):
        return
    given = _types(last.operands)
    wanted_types = _yielded_types(block, owner)
    if given != wanted_types:
        yield "yield-types", f"{owner.name} gives ({_shown(wanted_types)}), its body ends with ({_shown(given)})"


def _yielded_types(block: Block, owner: Operation) -> list[Attribute]:
    """What a body must end with: the results of its owner, or one vector for the bodies of a contraction."""
    if isinstance(owner, PackOp):
        return [vector_of(buffer_type(owner.panel).element, owner.side.lanes)]
    if not isinstance(owner, ops.ContractOp):
        return _types(owner.results)
    a, b = owner.sides
    of_a = block.parent in (a.body, a.tail)
    return [vector_of(buffer_type(owner.c).element, a.lanes if of_a else b.lanes)]


def _types(values: Iterable[SSAValue]) -> list[Attribute]:
    return [value.type for value in values]


def _shown(kinds: list[Attribute]) -> str:
    return ", ".join(map(str, kinds))
