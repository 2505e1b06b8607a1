"""Neighbours as code generation knows them: where a vector begins at a constant, TVM writes its places as zeros plus
neighbours, and would take them one by one.
"""

from typing import Any

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.nodes import Expr

__all__ = ["ramp_pass"]


def ramp_pass(door: Door) -> Any:
    """A pass that makes one node of such places again."""
    t, ffi = door.tirx, door.ffi

    def is_zero(e: Expr) -> bool:
        return isinstance(e, t.Broadcast) and isinstance(e.value, t.IntImm) and int(e.value.value) == 0

    def neighbours(e: Expr) -> Expr:
        return e.b if is_zero(e.a) and isinstance(e.b, t.Ramp) else e

    @t.transform.prim_func_pass(opt_level=0, name="tilewright.Ramps")
    def run(function: Any, _module: Any, _context: Any) -> Any:
        found = list[Expr]()
        ffi.structural_walk(function.body, [(t.Broadcast, found.append)], order="pre")
        return function.with_body(ffi.structural_map(function.body, (t.Add, neighbours))) if found else function

    return run
