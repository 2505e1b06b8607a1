"""Random kernels, as text in the public language."""

from collections.abc import Callable

from tests.random.choices import Choices
from tests.random.scope import Program, Scope, Variable, Writer
from tests.random.statements import STATEMENTS, store
from tests.random.storage import recalled
from tests.random.tiles import load, reload

__all__ = ["program"]

HEADER = """from tilewright import tile
from tilewright.tile import *
"""
_TABLE: tuple[Callable[[Writer, Scope], None], ...] = tuple(each for each, weight in STATEMENTS for _ in range(weight))


def program(choices: Choices) -> Program:
    """A kernel of one launch or several, sometimes in a loop. The same choices give the same text."""
    w = Writer(choices)
    for _ in range(3 if choices.chance(75) else 2):
        w.axis("a", choices.pick((4, 1, 3, 5, 7, 8, 9, 16, 17, 20)))
    launches = choices.pick((2, 3)) if choices.chance(18) else 1
    top = Scope("", {}, _numbers(w), 0, "", ())
    if choices.chance(8):
        top = _root_loop(w, top)
    for _ in range(launches):
        _launch(w, top, 2 + choices.below(5) if launches == 1 else 1 + choices.below(2))
    w.traits["several launches"] += launches > 1
    w.traits[f"depth {_depth(w)}"] += 1
    return Program(_text(w), tuple(w.arguments), tuple(choices.drawn), +w.traits)


def _numbers(w: Writer) -> list[Variable]:
    """Parameters that are numbers."""
    numbers: list[Variable] = []
    for _ in range(1 + w.choices.below(2) if w.choices.chance(35) else 0):
        made = w.argument(
            "P", w.choices.pick(("i64", "f32", "i32", "f16", "u8", "boolean", "f64", "bf16")), (), const=True
        )
        numbers.append(Variable(made.name, made.dtype, None))
        w.traits["number"] += 1
    return numbers


def _root_loop(w: Writer, top: Scope) -> Scope:
    """A serial around launches."""
    step = w.axis("s", w.choices.pick((2, 1, 3, 0)))
    handle = w.fresh("n")
    w.line(top, f"for {handle} in serial(shape({step})):")
    w.traits["loop of launches"] += 1
    return top.inner(handle, {step: w.axes[step]}, "serial")


def _launch(w: Writer, top: Scope, count: int) -> None:
    """One root parallel. Launches share views only: a later one may read what an earlier one wrote."""
    w.written = [each for each in w.arguments if each.name.startswith("Y")]
    roots = [w.axis("g", w.choices.pick((2, 1, 3, 5))) for _ in range(2 if w.choices.chance(30) else 1)]
    handle = w.fresh("n")
    w.line(top, f"for {handle} in {top.handle}{'.' * bool(top.handle)}parallel(shape({', '.join(roots)})):")
    scope = top.inner(handle, {root: w.axes[root] for root in roots}, "parallel")
    load(w, scope)
    (reload if w.written else load)(w, scope)
    _block(w, scope, count)
    _results(w, scope)


def _depth(w: Writer) -> int:
    return max((len(line) - len(line.lstrip())) // 4 for line in w.lines)


def _block(w: Writer, scope: Scope, count: int) -> None:
    for _ in range(count):
        if scope.depth < 4 and not scope.guarded and w.choices.chance(28):
            _region(w, scope)
        elif not scope.guarded and w.choices.chance(6):
            _if(w, scope)
        else:
            w.choices.pick(_TABLE)(w, scope)


def _region(w: Writer, scope: Scope) -> None:
    kind = w.choices.pick(("serial", "serial", "pipeline", "reduce", "parallel"))
    axes = [w.axis("s", w.choices.pick((2, 1, 3, 0, 4))) for _ in range(2 if w.choices.chance(25) else 1)]
    policy = ""
    if kind == "reduce":
        order = w.choices.pick(("fold_left", "fold_right"))
        policy = f", policy=tile.{order}"
        w.traits[f"policy {order}"] += 1
    if kind == "pipeline":
        policy = w.choices.pick((", window=2", "", ", window=3, interval=2"))
    handle = w.fresh("n")
    domain = f"shape({', '.join(axes)})"
    carried = _carried(w, scope) if kind != "parallel" else []
    w.line(scope, f"for {handle} in {scope.handle}.{kind}({domain}{policy}):")
    inner = scope.inner(handle, {axis: w.axes[axis] for axis in axes}, kind)
    if kind != "parallel" and w.choices.chance(20):
        _skipping(w, inner, axes[0])
    header = len(w.lines)
    if w.choices.chance(60):
        load(w, inner)
    if inner.memories and w.choices.chance(60):
        recalled(w, inner)
    _block(w, inner, 1 + w.choices.below(3))
    _yield(w, inner, carried)
    if kind == "parallel" or w.choices.chance(25):
        if kind == "reduce":
            w.line(inner, "pass")
        else:
            store(w, inner)
    if len(w.lines) == header:
        w.line(inner, "pass")
    w.traits[f"region {kind}"] += 1
    w.traits["regions"] += 1


def _skipping(w: Writer, inner: Scope, axis: str) -> None:
    """The whole body of a region in one arm: iterations that may be skipped."""
    w.line(inner, f"if {inner.handle}.index({axis}) {w.choices.pick(('>=', '<', '!='))} {w.choices.below(3)}:")
    inner.depth += 1
    w.traits["skipped iterations"] += 1


def _carried(w: Writer, scope: Scope) -> list[Variable]:
    """Up to three names of the block around, which the region will bind anew."""
    tiles = scope.rebindable()
    chosen: list[Variable] = []
    for _ in range(min(len(tiles), 1 + w.choices.below(3))):
        v = w.choices.pick(tiles)
        if v not in chosen:
            chosen.append(v)
    return chosen


def _yield(w: Writer, scope: Scope, carried: list[Variable]) -> None:
    """One assignment to all: swaps, one value twice, values of the iteration."""
    if not carried:
        return
    values = [w.choices.pick(_alike(scope, v)) for v in carried]
    if all(value.name == v.name for value, v in zip(values, carried, strict=True)):
        v = carried[0]
        grown = f"{v.name} + {v.name}" if v.dtype != "boolean" else f"~{v.name}"
        w.line(scope, f"{v.name} = {grown}")
    else:
        w.line(scope, f"{', '.join(v.name for v in carried)} = {', '.join(value.name for value in values)}")
    w.traits["carries"] += len(carried)


def _alike(scope: Scope, v: Variable) -> list[Variable]:
    return [each for each in reversed(scope.variables) if each.dtype == v.dtype and each.axes == v.axes]


def _if(w: Writer, scope: Scope) -> None:
    """A condition of a coordinate or a parameter; the arms bind a name of the block around anew, or store."""
    own = scope.rebindable()
    v = w.choices.pick(own) if own else load(w, scope)
    index = w.choices.pick(list(scope.indices))
    numbers = [each.name for each in w.arguments if not each.shape and each.dtype in ("i64", "f32", "i32", "u8")]
    value = w.choices.pick(numbers) if numbers and w.choices.chance(50) else f"{scope.handle}.index({index})"
    w.line(scope, f"if {value} {w.choices.pick(('>', '<', '=='))} {w.choices.below(3)}:")
    for arm in range(2 if w.choices.chance(40) else 1):
        if arm:
            w.line(scope, "else:")
        inner = scope.inner(scope.handle, {}, "arm")
        inner.guarded = True
        w.choices.pick(_TABLE)(w, inner)
        w.line(inner, f"{v.name} = {w.choices.pick(_alike(inner, v)).name}")
    w.traits["if"] += 1


def _results(w: Writer, scope: Scope) -> None:
    """The last values in sight are stored, some of those before them, and what memories hold in the end."""
    for memory in scope.memories[:2]:
        w.define(scope, f"{memory.name}.load()", memory.dtype, memory.axes)
    others = scope.variables[:-3]
    for v in [*scope.variables[-3:], *(w.choices.pick(others) for _ in others[:2])]:
        store(w, scope, v)


def _text(w: Writer) -> str:
    parameters = [f"    {a.name}: {a.annotation}," for a in w.arguments]
    axes = [f"    {name} = axis({name!r}, {extent})" for name, extent in w.axes.items()]
    ones = [f"    o{place} = axis('o{place}', 1)" for place in range(7)]
    own = w.definitions.values()
    return "\n".join([HEADER, *own, "", "@tile.kernel", "def program(", *parameters, "):", *axes, *ones, *w.lines, ""])
