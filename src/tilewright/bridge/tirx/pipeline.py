"""Our own list of TVM's passes. None of them touches the value of a float.

TVM's default list is not used: it drops notes of allocations, and simplifies floats as if they were real numbers.
"""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.merging import merge_pass
from tilewright.bridge.tirx.ramps import ramp_pass
from tilewright.bridge.tirx.stack import KEPT, StackPlan, stack_pass

__all__ = ["PIPELINE", "erase_notes", "pipeline_of"]

PIPELINE = "tilewright"
_OURS = "tile."
_MANUAL = "tile.manual"
_LOCK = threading.Lock()
_REGISTERED = set[str]()
_PLAN: ContextVar[StackPlan] = ContextVar("plan of the module that is being built")


def _module_passes(door: Door) -> list[Any]:
    """From the exported function to one that can be called."""
    x = door.transform
    return [
        erase_notes(door),  # before everything: the notes that our passes exchange mean nothing to TVM's
        x.FlattenBuffer(),
        ramp_pass(door),
        x.VectorizeLoop(True),
        x.UnrollLoop(),
        merge_pass(door),
        x.VerifyMemory(),
        x.AnnotateEntryFunc(),
        x.SplitHostDevice(),
        x.MakePackedAPI(),
    ]


def _host_passes(door: Door) -> list[Any]:
    """What code generation asks for."""
    x = door.transform
    return [
        stack_pass(door, _PLAN.get()),  # right before TVM sends what is left to its workspace
        x.LowerTVMBuiltin(),
        x.LowerIntrin(),
    ]


@contextmanager
def pipeline_of(door: Door, plan: StackPlan) -> Generator[str]:
    """The name of the list, entered once a process: TVM builds with lists that it knows by name only."""
    with _LOCK:
        if PIPELINE not in _REGISTERED:
            door.tirx.register_tir_pipeline(PIPELINE, lambda: _pipeline(door))
            _REGISTERED.add(PIPELINE)
    token = _PLAN.set(plan)
    try:
        yield PIPELINE
    finally:
        _PLAN.reset(token)


def _pipeline(door: Door) -> tuple[Any, Any, Any]:
    transform = door.tvm.transform

    @transform.module_pass(opt_level=0)
    def lower(module: Any, _context: Any) -> Any:
        return transform.Sequential(_module_passes(door))(module)

    def host() -> Any:
        return transform.Sequential(_host_passes(door))

    return lower, host, host


def erase_notes(door: Door) -> Any:
    """A pass that drops our notes, but for the one that the stack plan reads."""
    t, ffi = door.tirx, door.ffi

    def bare_loop(loop: Any) -> Any:
        return t.For(loop.loop_var, loop.min, loop.extent, loop.kind, loop.body, annotations=_bare(loop.annotations))

    def bare_allocation(allocation: Any) -> Any:
        kept = {KEPT: t.IntImm("int32", 1)} if _MANUAL in allocation.annotations else {}
        return t.AllocBuffer(allocation.buffer, {**_bare(allocation.annotations), **kept})

    def bare_mark(mark: Any) -> Any:
        return mark.body if str(mark.attr_key).startswith(_OURS) else mark

    @t.transform.prim_func_pass(opt_level=0, name="tilewright.EraseNotes")
    def erase(function: Any, _module: Any, _context: Any) -> Any:
        body = function.body
        for kind, bare in ((t.For, bare_loop), (t.AllocBuffer, bare_allocation), (t.AttrStmt, bare_mark)):
            body = ffi.structural_map(body, (kind, bare))
        return function.with_body(body)

    return erase


def _bare(annotations: Any) -> dict[str, Any]:
    return {key: value for key, value in dict(annotations).items() if not str(key).startswith(_OURS)}
