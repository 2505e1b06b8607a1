"""Temporary storage on the stack: a bounded plan, made after everything that may copy an allocation.

A buffer is a candidate when its size is known, it is only loaded and stored by element, and it belongs to the compiler:
manual memory keeps its own place. Each is charged in steps of 16 bytes, in the order in which they stand, and copies in
several branches each count. The mark on an allocation is TVM's own, so nothing is rewritten behind its back.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.providers.choices import NUMBERS

__all__ = ["ADDRESSES", "KEPT", "StackPlan", "stack_pass"]

KEPT = "keep_in_workspace"
"""The note of storage that must not be moved. It has no prefix of ours, so that it survives until this pass."""
_MARK = "disable_lower_builtin"
_STEP = 16
_MOST = (1 << 31) - 1
ADDRESSES = frozenset({"tirx.buffer_data", "tirx.address_of", "tirx.tvm_access_ptr"})


@dataclass
class StackPlan:
    """What one function got."""

    budget: int
    used: int = 0
    counts: Counter[str] = field(default_factory=Counter[str])

    def admit(self, size_bytes: int) -> bool:
        """Whether a buffer of this size still fits; if so it is charged."""
        charge = -(-size_bytes // _STEP) * _STEP
        if self.used + charge > self.budget:
            self.counts["left in the workspace: no budget"] += 1
            return False
        self.used += charge
        self.counts["on the stack"] += 1
        return True


def stack_pass(door: Door, plan: StackPlan) -> Any:
    """The pass; what it did is in `plan` afterwards."""
    t, ffi = door.tirx, door.ffi

    @t.transform.prim_func_pass(opt_level=0, name="tilewright.StackPlan")
    def run(function: Any, _module: Any, _context: Any) -> Any:
        escaping = _escaping(door, function.body)

        def visit(allocation: Any) -> Any:
            reason = _refusal(door, allocation, escaping)
            if reason:
                plan.counts[f"left in the workspace: {reason}"] += 1
            if reason or not plan.admit(_size(allocation.buffer, door)):
                return _bare(door, allocation)
            return t.AllocBuffer(allocation.buffer, {**_kept_notes(allocation), _MARK: t.IntImm("int32", 1)})

        return function.with_body(ffi.structural_map(function.body, (t.AllocBuffer, visit)))

    return run


def _bare(door: Door, allocation: Any) -> Any:
    return door.tirx.AllocBuffer(allocation.buffer, _kept_notes(allocation))


def _kept_notes(allocation: Any) -> Mapping[str, Any]:
    return {key: value for key, value in dict(allocation.annotations).items() if str(key) != KEPT}


def _refusal(door: Door, allocation: Any, escaping: Counter[str]) -> str:
    """Why storage stays where it is; empty for a candidate."""
    buffer = allocation.buffer
    if KEPT in allocation.annotations:
        return "manual memory"
    if set(map(str, allocation.annotations)):
        return "another pass has marked it"
    if str(buffer.scope()) != "local" or len(buffer.shape) != 1:
        return "not a flat local buffer"
    if not isinstance(buffer.shape[0], door.tirx.IntImm) or not 0 < _size(buffer, door) <= _MOST:
        return "no constant size"
    name = str(buffer.name)
    return "used as a whole" if escaping[name] else ""


def _size(buffer: Any, door: Door) -> int:
    return int(buffer.shape[0].value) * (door.tvm.DataType(buffer.dtype).bits // 8)


def _escaping(door: Door, body: Any) -> Counter[str]:
    """Buffers whose address is asked for, but for calls that are known to forget it when they return."""
    found: Counter[str] = Counter()
    ir = door.tvm.ir

    def visit(call: Any) -> None:
        if isinstance(call.op, ir.Op) and str(call.op.name) in ADDRESSES:
            found.update(_names(call))
        elif len(call.args) and getattr(call.args[0], "value", None) in NUMBERS:
            for address in call.args[1:]:
                found.subtract(_names(address))

    door.ffi.structural_walk(body, [(ir.Call, visit)], order="pre")
    return found


def _names(address: Any) -> list[str]:
    """Buffers whose address a call gives."""
    return [str(getattr(getattr(each, "source", each), "name", "")) for each in getattr(address, "args", ())]
