"""Reducers of a random kernel's own, with one state or several, in folds and in scans.

Their answers are one: whole numbers wrap and so regroup freely, floats are folded from a side.
"""

from dataclasses import dataclass

from tests.random.scope import FLOATS, INTS, Scope, Variable, Writer
from tests.random.tiles import any_tile

__all__ = ["folded_with_own", "scanned_with_own"]

_SIDES = ("fold_left", "fold_right")


@dataclass(frozen=True, slots=True)
class _Kind:
    """The text of a reducer for elements of {T}, whose lowest value is {low}. `law` says what of it is declared."""

    name: str
    states: tuple[str, ...]
    identity: str
    merge: str
    lift: str = ""
    finish: str = ""
    law: str = "commutative=False"
    policies: tuple[str, ...] = ("ordered_tree", *_SIDES)
    placed: bool = False  # whether the coordinate is folded along

    @property
    def results(self) -> tuple[str, ...]:
        """The element type of each tile that a fold gives."""
        return ("T",) if self.finish else self.states


_BEST = "lambda a, b: (where(b[0] > a[0], b[0], a[0]), where(b[0] > a[0], b[1], a[1]))"
_COUNT = "lambda a, b: (a[0] + b[0], a[1] + b[1], a[2] | b[2])"
_TALLY = _Kind("tally", ("i64", "T", "boolean"), "(0, 0, False)", _COUNT, "lambda x: (1, x, x > 2)", law="")
_KINDS = (
    _Kind("less", ("T",), "0", "lambda a, b: a - b", law="associative=False, commutative=False", policies=_SIDES),
    _Kind("affine", ("T", "T"), "(1, 0)", "lambda f, g: (g[0] * f[0], g[0] * f[1] + g[1])", "lambda x: (x, 1)"),
    _Kind("best", ("T", "i64"), "({low}, -1)", _BEST, placed=True),
    _TALLY,
    _Kind("ended", _TALLY.states, _TALLY.identity, _COUNT, _TALLY.lift, "lambda s: where(s[2], s[1], s[1] + 1)", ""),
)  # fmt: skip
_LOWEST = {"i8": "-128", "i32": "-(2**31)", "i64": "-(2**63)", "u8": "0", "u32": "0"}


def folded_with_own(w: Writer, scope: Scope) -> None:
    """Over one axis, sometimes over two."""
    a = any_tile(w, scope, dtypes=(*FLOATS, *INTS), least_rank=1)
    kind, name, policy = _reducer(w, a)
    axes = a.axes or ()
    axis = w.choices.pick(axes)
    folded = axes[:2] if len(axes) > 1 and w.choices.chance(25) else (axis,)
    along = folded[0] if len(folded) == 1 else f"({', '.join(folded)})"
    kept = tuple(each for each in axes if each not in folded)
    source = f"({a.name}, iota({axis}))" if kind.placed else a.name
    call = f"reduce({source}, {along}, {name}, policy=tile.{policy})"
    w.define_all(scope, call, _types(kind, a), kept)
    w.traits["own reducer in a fold"] += 1


def scanned_with_own(w: Writer, scope: Scope) -> None:
    a = any_tile(w, scope, dtypes=(*FLOATS, *INTS), least_rank=1)
    kind, name, policy = _reducer(w, a)
    axes = a.axes or ()
    axis = w.choices.pick(axes)
    source = f"({a.name}, iota({axis}))" if kind.placed else a.name
    how = w.choices.pick(("", ", reverse=True", ", exclusive=True", ", reverse=True, exclusive=True"))
    w.define_all(scope, f"scan({source}, {axis}, {name}, policy=tile.{policy}{how})", _types(kind, a), axes)
    w.traits["own reducer in a scan"] += 1


def _types(kind: _Kind, a: Variable) -> tuple[str, ...]:
    return tuple(a.dtype if each == "T" else each for each in kind.results)


def _reducer(w: Writer, a: Variable) -> tuple[_Kind, str, str]:
    """A reducer for the elements of a tile, its name in the text, and a policy of which every order is one answer."""
    kind = w.choices.pick(_KINDS)
    trees = ("unordered_tree",) if not kind.law else ()
    policy = w.choices.pick(_SIDES if a.dtype in FLOATS else (*kind.policies, *trees))
    name = f"{kind.name}_{a.dtype}"
    w.definitions[name] = _text(kind, name, a.dtype)
    w.traits[f"policy {policy}"] += 1
    return kind, name, policy


def _text(kind: _Kind, name: str, dtype: str) -> str:
    single = len(kind.states) == 1
    states = ", ".join(dtype if each == "T" else each for each in kind.states)
    low = _LOWEST.get(dtype, "float('-inf')")
    parts = [
        f"state={states if single else f'({states})'}",
        f"identity={kind.identity.format(low=low)}",
        f"merge={kind.merge}",
        *([f"lift={kind.lift}"] if kind.lift else []),
        *([f"finish={kind.finish}"] if kind.finish else []),
        *([kind.law] if kind.law else []),
    ]
    return f"{name} = reducer({', '.join(parts)})"
