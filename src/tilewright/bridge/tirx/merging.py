"""Common subexpressions: TVM's pass that computes them once, where it changes no meaning.

It takes arithmetic that neither loads nor calls, which leaves mostly indices, and compares it as it is written: floats
are safe. But it computes before the statement what stands in an arm of a lazy choice inside it. What cannot trap may be
computed for nothing; a division by what may be zero may not, and then the pass does not run.
"""

from typing import Any

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.nodes import Expr
from tilewright.bridge.tirx.realised import Realised

__all__ = ["merge_pass", "mergeable"]

_MERGE = "tile.merge"


def mergeable(door: Door, function: Any) -> Realised:
    """The function with the mark that `merge_pass` goes by, or why it gets none."""
    t, traps = door.tirx, list[Expr]()

    def visit(division: Expr) -> None:
        is_safe = isinstance(division.b, t.FloatImm) or (isinstance(division.b, t.IntImm) and int(division.b.value) > 0)
        if not is_safe and not str(division.ty).startswith("float"):
            traps.append(division)

    door.ffi.structural_walk(function.body, [((t.Div, t.Mod, t.FloorDiv, t.FloorMod), visit)], order="pre")
    if traps:
        return Realised(function, declined=("common subexpressions stay: a division may have no result",))
    return Realised(function.with_attr(_MERGE, 1))


def merge_pass(door: Door) -> Any:
    """TVM's pass, on functions that may have it."""
    x = door.transform

    @x.prim_func_pass(opt_level=0, name="tilewright.Merge")
    def unmark(function: Any, _module: Any, _context: Any) -> Any:
        return function.without_attr(_MERGE)

    @door.tvm.transform.module_pass(opt_level=0, name="tilewright.Merge")
    def merge(module: Any, _context: Any) -> Any:
        marked = any(function.attrs is not None and _MERGE in function.attrs for function in module.functions.values())
        return unmark(x.CommonSubexprElim()(module)) if marked else module

    return merge
