"""Manual memory in random kernels: declared and filled at once, then overwritten and read wherever that is legal."""

from tests.random.scope import Scope, Variable, Writer
from tests.random.tiles import any_tile

__all__ = ["recalled", "remembered"]


def remembered(w: Writer, scope: Scope) -> None:
    if scope.memories and (scope.guarded or w.choices.chance(75)):
        recalled(w, scope)
    elif not scope.guarded:
        _declared(w, scope)


def _declared(w: Writer, scope: Scope) -> None:
    a = any_tile(w, scope, least_rank=1)
    axes = a.axes or ()
    made = Variable(w.fresh("m"), a.dtype, axes)
    where = f"shape({', '.join(axes)})"
    if w.choices.chance(40):
        where = f"layout({where}, strides=({', '.join(map(str, _strides(w, axes)))},))"
    resource = ', "private"' if w.choices.chance(50) else ""
    w.line(scope, f"{made.name} = memory({a.dtype}, {where}{resource})")
    w.line(scope, f"{made.name}.store({a.name})")
    scope.memories.append(made)
    w.traits["memory"] += 1


def _strides(w: Writer, axes: tuple[str, ...]) -> list[int]:
    """Of rows or of columns, with cells between them that hold nothing."""
    outward = list(axes) if w.choices.chance(50) else list(reversed(axes))
    strides: dict[str, int] = {}
    step = 1
    for axis in outward:
        strides[axis] = step
        step = step * w.axes[axis] + w.choices.pick((0, 0, 1, 3))
    return [strides[axis] for axis in axes]


def recalled(w: Writer, scope: Scope) -> None:
    """What one holds, by a name; before that it may be overwritten, but not by instances that share it."""
    memory = w.choices.pick(scope.memories)
    if memory.name not in scope.fixed and w.choices.chance(75):
        alike = [v for v in scope.variables if v.dtype == memory.dtype and v.axes == memory.axes]
        w.line(scope, f"{memory.name}.store({w.choices.pick(alike).name if alike else _changed(memory)})")
        w.traits["memory overwritten"] += 1
    w.define(scope, f"{memory.name}.load()", memory.dtype, memory.axes)


def _changed(memory: Variable) -> str:
    return f"~{memory.name}.load()" if memory.dtype == "boolean" else f"{memory.name}.load() + 1"
