"""Our own list of TVM's passes. None of them touches the value of a float.

TVM's default list is not used: it drops notes of allocations, and simplifies floats as if they were real numbers.
"""

import threading
from typing import Any

from tilewright.bridge.tirx.door import Door

__all__ = ["PIPELINE", "host_passes", "module_passes", "register"]

PIPELINE = "tilewright"
_OURS = "tile."
_LOCK = threading.Lock()
_REGISTERED = set[str]()


def module_passes(door: Door) -> list[Any]:
    """From the exported function to one that can be called."""
    x = door.transform
    return [
        x.FlattenBuffer(),
        x.VectorizeLoop(True),
        x.UnrollLoop(),
        x.VerifyMemory(),
        x.AnnotateEntryFunc(),
        x.SplitHostDevice(),
        x.MakePackedAPI(),
    ]


def host_passes(door: Door) -> list[Any]:
    """What code generation asks for."""
    x = door.transform
    return [x.LowerTVMBuiltin(), x.LowerIntrin()]


def register(door: Door) -> str:
    """Enters the list under its name, once a process: TVM builds with lists that it knows by name only."""
    with _LOCK:
        if PIPELINE not in _REGISTERED:
            door.tirx.register_tir_pipeline(PIPELINE, lambda: _pipeline(door))
            _REGISTERED.add(PIPELINE)
    return PIPELINE


def _pipeline(door: Door) -> tuple[Any, Any, Any]:
    transform = door.tvm.transform

    @transform.module_pass(opt_level=0)
    def lower(module: Any, _context: Any) -> Any:
        return transform.Sequential([erase_notes(door), *module_passes(door)])(module)

    def host() -> Any:
        return transform.Sequential(host_passes(door))

    return lower, host, host


def erase_notes(door: Door) -> Any:
    """The notes that our passes exchange mean nothing to TVM's."""
    t, ffi = door.tirx, door.ffi

    def bare_loop(loop: Any) -> Any:
        return t.For(loop.loop_var, loop.min, loop.extent, loop.kind, loop.body, annotations=_bare(loop.annotations))

    def bare_allocation(allocation: Any) -> Any:
        return t.AllocBuffer(allocation.buffer, _bare(allocation.annotations))

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
