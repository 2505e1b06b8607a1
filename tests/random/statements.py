"""The statements a random kernel is made of. Each writes some lines that are legal where they stand.

Everything is exact or of fixed order, so that both routes must give the same bits: sums of floats are folded in an
order, or are sums of small whole numbers.
"""

from collections.abc import Callable

from tests.random.own_reducers import folded_with_own, scanned_with_own
from tests.random.scope import FLOATS, INTS, Scope, Variable, Writer
from tests.random.storage import remembered
from tests.random.tiles import any_tile, family, load, mask

__all__ = ["STATEMENTS", "store"]

_LITERALS = {
    "f": ("2.0", "0.5", "-1.0", "3.0"),
    "i": ("1", "3", "2", "-5"),
    "u": ("1", "3", "2", "5"),
    "b": ("True", "False"),
}


def elementwise(w: Writer, scope: Scope) -> None:
    a = any_tile(w, scope)
    axes = a.axes or ()
    others = [v for v in scope.variables if v.dtype == a.dtype and set(v.axes or ()) <= set(axes)]
    kind = family(a.dtype)
    literal = w.choices.pick(_LITERALS[kind])
    b = w.choices.pick(others).name if others and w.choices.chance(70) else literal
    w.define(scope, _operation(w, kind, a, b, literal), a.dtype, axes)


def _operation(w: Writer, kind: str, a: Variable, b: str, literal: str) -> str:
    if kind == "b":
        return w.choices.pick((f"{a.name} & {b}", f"{a.name} | {b}", f"~{a.name}", f"{a.name} ^ {b}"))
    common = [
        f"{a.name} + {b}",
        f"{a.name} - {b}",
        f"{a.name} * {b}",
        f"maximum({a.name}, {b})",
        f"minimum({a.name}, {b})",
    ]
    common.append(f"where({a.name} < {b}, {a.name}, {a.name} * {literal})")
    common.append(f"where({a.name} != {b}, {literal}, {a.name})")
    if kind == "f":
        return w.choices.pick(
            [*common, f"abs({a.name})", f"-{a.name}", f"{a.name} / {literal}", f"tile.floor({a.name})"]
        )
    whole = [
        f"{a.name} // {literal}",
        f"{a.name} % {literal}",
        f"tile.trunc_div({a.name}, {literal})",
        f"{a.name} ^ {b}",
    ]
    return w.choices.pick([*common, *whole, f"{a.name} & {b}", f"{a.name} | {b}", f"{a.name} >> 1", f"{a.name} << 2"])


def compared(w: Writer, scope: Scope) -> None:
    a = any_tile(w, scope, dtypes=(*FLOATS, *INTS))
    literal = w.choices.pick(_LITERALS[family(a.dtype)])
    w.define(scope, f"{a.name} {w.choices.pick(('<', '>=', '=='))} {literal}", "boolean", a.axes)


def converted(w: Writer, scope: Scope) -> None:
    a = any_tile(w, scope)
    dtype = w.choices.pick([each for each in (*FLOATS, *INTS, "boolean") if each != a.dtype])
    w.define(scope, f"cast({dtype}, {a.name})", dtype, a.axes)
    w.traits["cast"] += 1


def mapped(w: Writer, scope: Scope) -> None:
    """Read backwards, transposed, or with every coordinate computed."""
    a = any_tile(w, scope)
    axes = a.axes or ()
    if not axes:
        return
    order = tuple(reversed(axes)) if w.choices.chance(50) else axes
    places: list[str] = []
    for axis in axes:
        last = w.axes[axis] - 1
        places.append(
            w.choices.pick((f"p.index({axis})", f"{last} - p.index({axis})", f"(p.index({axis}) + 1) % {last + 1}"))
        )
    body = f"{a.name}.at(coord({', '.join(places)}))"
    if family(a.dtype) in "fi" and w.choices.chance(30):
        body = f"{body} + cast({a.dtype}, p.index({axes[0]}))"
    w.define(scope, f"tile.map({a.dtype}, shape({', '.join(order)}), lambda p: {body})", a.dtype, order)
    w.traits["map"] += 1


def _folding(w: Writer, a: Variable) -> tuple[str, str, str]:
    """(operand, reducer, policy) that make one answer."""
    policies = ("unordered_tree", "ordered_tree", "fold_left", "fold_right")
    if family(a.dtype) != "f":
        return a.name, w.choices.pick(("add", "maximum", "minimum", "mul")), w.choices.pick(policies)
    shape = w.choices.below(3)
    if shape == 0:
        return a.name, w.choices.pick(("maximum", "minimum")), w.choices.pick(policies)
    if shape == 1:
        return a.name, w.choices.pick(("add", "mul")), w.choices.pick(("fold_left", "fold_right"))
    small = f"cast({a.dtype}, cast(i32, {a.name}) % 8)"
    return small, "add", w.choices.pick(policies)


def reduced(w: Writer, scope: Scope) -> None:
    a = any_tile(w, scope, dtypes=(*FLOATS, *INTS), least_rank=1)
    axes = a.axes or ()
    axis = w.choices.pick(axes)
    operand, reducer, policy = _folding(w, a)
    w.traits[f"policy {policy}"] += 1
    kept = tuple(each for each in axes if each != axis)
    w.define(scope, f"reduce({operand}, {axis}, {reducer}, policy=tile.{policy})", a.dtype, kept)


def scanned(w: Writer, scope: Scope) -> None:
    a = any_tile(w, scope, dtypes=(*FLOATS, *INTS), least_rank=1)
    axes = a.axes or ()
    operand, reducer, policy = _folding(w, a)
    how = w.choices.pick(("", ", reverse=True", ", exclusive=True", ", reverse=True, exclusive=True"))
    w.define(scope, f"scan({operand}, {w.choices.pick(axes)}, {reducer}, policy=tile.{policy}{how})", a.dtype, axes)
    w.traits["scan"] += 1


def product(w: Writer, scope: Scope) -> None:
    """An mma in one of the four orientations, onto a tile in sight, a constant or zeros."""
    names = [name for name in w.axes if name.startswith("a")]
    if len(names) < 3:
        return
    m, n, k = names[0], names[1], names[2]
    dtype = w.choices.pick(("f32", "f32", "f16", "bf16", "i8", "f64"))
    wide = {"i8": "i32", "f64": "f64"}.get(dtype, "f32")
    a = load(w, scope, (k, m) if w.choices.chance(30) else (m, k), dtype)
    b = load(w, scope, (n, k) if w.choices.chance(30) else (k, n), dtype)
    onto = [v for v in scope.variables if v.dtype == wide and v.axes in ((m, n), (n, m))]
    c = w.choices.pick(onto) if onto and w.choices.chance(60) else None
    axes = c.axes if c is not None and c.axes is not None else (m, n)
    start = c.name if c is not None else f"full({wide}, shape({m}, {n}), {w.choices.pick(('0', '2'))})"
    order = w.choices.pick(("", ", reassociate=False"))
    w.define(scope, f"mma({a.name}, {b.name}, {start}{order})", wide, axes)
    w.traits["mma"] += 1


def scalars(w: Writer, scope: Scope) -> None:
    """A guarded element of an input, an element of a tile, or a coordinate."""
    kind = w.choices.below(3)
    index = _index(w, scope)
    if kind == 0:
        w.define(scope, f"{index} * 3 - 1", "i64", None)
    elif kind == 1:
        view = next((v for v in w.arguments if v.const and len(v.shape) == 1 and v.dtype == "f32"), None)
        view = view or w.argument("X", "f32", (w.choices.below(9) + 1,), const=True)
        at = f"{index} - 1"
        w.define(scope, f"{view.name}[{at}].load(where=({at} >= 0) & ({at} < {view.shape[0]}), fill=2.5)", "f32", None)
    else:
        a = any_tile(w, scope, least_rank=1)
        places = ", ".join(f"({index} + {w.choices.below(3)}) % {w.axes[axis]}" for axis in a.axes or ())
        w.define(scope, f"{a.name}.at(coord({places}))", a.dtype, None)
    w.traits["scalar"] += 1


def _index(w: Writer, scope: Scope) -> str:
    return f"{scope.handle}.index({w.choices.pick(list(scope.indices))})"


MOST_AXES = 8  # of a view


def store(w: Writer, scope: Scope, value: Variable | None = None) -> None:
    """To an output of its own, at a place that differs for all parallel instances; some elements hang over the edge."""
    v = value or any_tile(w, scope)
    axes = v.axes or ()
    heads = scope.parallel
    extents = tuple(w.axes[each] for each in axes)
    blocked = len(heads) <= len(axes) and bool(axes) and w.choices.chance(50)
    where = f", where={mask(w, scope, axes)}" if axes and w.choices.chance(20) else ""
    places: list[str] = []
    shape: list[int] = []
    for place, extent in enumerate(extents):
        head = heads[place] if blocked and place < len(heads) else None
        places.append("0" if head is None else f"{scope.handle}.index({head}) * {extent}")
        count = 1 if head is None else scope.indices[head]
        shape.append(max(1, count * extent - w.choices.pick((0, 0, 1, 2))))
    if not blocked:
        places = [f"{scope.handle}.index({head})" for head in heads] + places
        shape = [max(1, scope.indices[head]) for head in heads] + shape
    if any(each % own for each, own in zip(reversed(shape), reversed(extents), strict=False)):
        w.traits["ragged"] += 1
    if len(shape) > MOST_AXES:
        return
    view = w.argument("Y", v.dtype, tuple(shape), const=False)
    if not axes:
        w.line(scope, f"{view.name}[{', '.join(places)}].store({v.name}{'.scalar()' if v.axes == () else ''})")
        return
    ones = [] if blocked else [f"o{number}" for number, _ in enumerate(heads)]
    block = ", ".join([*ones, *axes])
    w.line(scope, f"{view.name}.at(coord({', '.join(places)}), shape({block})).store({v.name}{where})")
    w.traits["store"] += 1


def in_place(w: Writer, scope: Scope) -> None:
    """Its own block of a view that is read and written: what was loaded before a store stays as it was."""
    if len(scope.parallel) != 1 or scope.kind not in ("parallel", "serial"):
        return
    head = scope.parallel[0]
    axis = next(name for name in w.axes if name.startswith("a"))
    extent = w.axes[axis]
    size = max(1, scope.indices[head] * extent - w.choices.pick((0, 1)))
    view = next((v for v in w.arguments if v.name.startswith("Z")), None)
    view = view or w.argument("Z", "f32", (size,), const=False)
    if view.shape[0] > scope.indices[head] * extent:
        return
    at = f"{view.name}.at(coord({scope.handle}.index({head}) * {extent}), shape({axis}))"
    before = w.define(scope, f"{at}.load()", "f32", (axis,))
    w.line(scope, f"{at}.store({before.name} * 0.5 + 1.0)")
    w.traits["in place"] += 1


def updated(w: Writer, scope: Scope) -> None:
    """A histogram of whole numbers; those outside of the view are dropped."""
    a = any_tile(w, scope, dtypes=INTS)
    if not a.axes:
        return
    view = next((v for v in w.arguments if v.name.startswith("H")), None) or w.argument("H", "i32", (5,), const=False)
    reducer = "add"  # one view, one reducer: updates commute
    modulus = w.choices.pick((5, 8))
    w.line(scope, f"{view.name}.update(coord(cast(i64, {a.name}) % {modulus}), 1, reducer={reducer})")
    w.traits["update"] += 1


def loaded(w: Writer, scope: Scope) -> None:
    load(w, scope)


def stored(w: Writer, scope: Scope) -> None:
    store(w, scope)


STATEMENTS: tuple[tuple[Callable[[Writer, Scope], None], int], ...] = (
    (elementwise, 10), (loaded, 5), (reduced, 4), (mapped, 4), (converted, 3), (compared, 2), (scanned, 2),
    (product, 2), (scalars, 2), (stored, 3), (in_place, 1), (updated, 1), (remembered, 4), (folded_with_own, 2),
    (scanned_with_own, 2),
)  # fmt: skip
"""What may stand in a block, and how often."""
