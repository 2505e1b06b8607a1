"""Where tiles come from, where they lie, and which of their elements count."""

from collections.abc import Sequence

from tests.random.scope import FLOATS, Argument, Scope, Variable, Writer

__all__ = ["any_tile", "family", "load", "mask", "reload"]

_FILLS = {"f": ("0.0", "-7.0", "0.25"), "i": ("0", "-7", "3"), "u": ("0", "7", "3"), "b": ("False", "True")}


def family(dtype: str) -> str:
    """One letter: float, int, uint or boolean."""
    return "f" if dtype in FLOATS else dtype[0]


def origin(w: Writer, scope: Scope, step: int) -> str:
    """A place along one dimension: a known coordinate times the block, and a little aside, also below zero."""
    aside = w.choices.pick((0, 0, 1, -1, -2, 3))
    number = _number(w)
    if number:
        return f"{number} * {step} + {aside}" if aside > 0 else number
    if scope.indices and w.choices.chance(70):
        text = f"{scope.handle}.index({w.choices.pick(list(scope.indices))})"
        factor = w.choices.pick((step, 1, 2))
        text = text if factor == 1 else f"{text} * {factor}"
        if aside < 0:
            w.traits["negative origin"] += 1
        return text if aside == 0 else f"{text} {'+' if aside > 0 else '-'} {abs(aside)}"
    if aside < 0:
        w.traits["negative origin"] += 1
    return str(aside)


def load(w: Writer, scope: Scope, axes: Sequence[str] | None = None, dtype: str = "") -> Variable:
    """A tile of an input, which has about as many elements as it takes, or a few less."""
    chosen = tuple(axes) if axes is not None else _some_axes(w)
    kind = dtype or w.choices.pick(("f32", "f32", "i32", "f64", "i64", "f16", "bf16", "i8", "u8", "u32", "boolean"))
    extents = tuple(w.axes[each] for each in chosen)
    views = [v for v in w.arguments if v.const and v.dtype == kind and len(v.shape) == len(extents)]
    if views and w.choices.chance(60):
        return _loaded(w, scope, w.choices.pick(views), chosen)
    shape = tuple(max(1, extent * w.choices.pick((1, 1, 2, 3)) - w.choices.pick((0, 0, 1, 2))) for extent in extents)
    return _loaded(w, scope, w.argument("X", kind, shape, const=True), chosen)


def reload(w: Writer, scope: Scope) -> None:
    """A tile of what an earlier launch wrote."""
    names = [name for name in w.axes if name.startswith("a")]
    views = [view for view in w.written if len(view.shape) <= len(names)]
    if views:
        view = w.choices.pick(views)
        _loaded(w, scope, view, tuple(names[: len(view.shape)]))
        w.traits["reads an earlier launch"] += 1


def _loaded(w: Writer, scope: Scope, view: Argument, chosen: tuple[str, ...]) -> Variable:
    kind, extents = view.dtype, tuple(w.axes[each] for each in chosen)
    if any(there % own for there, own in zip(view.shape, extents, strict=True)):
        w.traits["ragged"] += 1
    place = ", ".join(origin(w, scope, extent) for extent in extents)
    where, fill = "", ""
    if w.choices.chance(40):
        fill = f"fill={w.choices.pick(_FILLS[family(kind)])}"
        w.traits["fill"] += 1
    if w.choices.chance(20):
        where = f"where={mask(w, scope, chosen)}"
        w.traits["masked load"] += 1
    arguments = ", ".join(each for each in (fill, where) if each)
    return w.define(
        scope, f"{view.name}.at(coord({place}), shape({', '.join(chosen)})).load({arguments})", kind, chosen
    )


def _some_axes(w: Writer) -> tuple[str, ...]:
    """One or two of the tile axes."""
    names = [name for name in w.axes if name.startswith("a")]
    first = w.choices.pick(names)
    rest = [name for name in names if name != first]
    return (first, w.choices.pick(rest)) if rest and w.choices.chance(55) else (first,)


def mask(w: Writer, scope: Scope, axes: Sequence[str]) -> str:
    """A condition over some of these axes."""
    tiles = [v for v in scope.variables if v.dtype == "boolean" and v.axes is not None and set(v.axes) <= set(axes)]
    if tiles and w.choices.chance(50):
        return w.choices.pick(tiles).name
    axis = w.choices.pick(list(axes))
    limit = _number(w) or str(w.choices.below(w.axes[axis] + 2))
    return f"iota({axis}) {w.choices.pick(('<', '>=', '!='))} {limit}"


def _number(w: Writer) -> str:
    """Sometimes a parameter that is a whole number; else nothing."""
    names = [each.name for each in w.arguments if not each.shape and each.dtype == "i64"]
    return w.choices.pick(names) if names and w.choices.chance(15) else ""


def any_tile(w: Writer, scope: Scope, *, dtypes: Sequence[str] = (), least_rank: int = 0) -> Variable:
    """A tile in sight, or a new load."""
    found = [
        v
        for v in scope.variables
        if v.axes is not None and len(v.axes) >= least_rank and (not dtypes or v.dtype in dtypes)
    ]
    if found:
        return found[-1 - min(w.choices.below(len(found)), len(found) - 1)]
    axes = [name for name in w.axes if name.startswith("a")][:least_rank] or None
    return load(w, scope, axes, w.choices.pick(dtypes) if dtypes else "")
