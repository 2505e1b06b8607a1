"""Reducers of the user's own: states of any types, how an element becomes one, and how two become one.

argmax = reducer(
    state=(f32, i64), identity=(-inf, -1),
    merge=lambda a, b: (where(b[0] > a[0], b[0], a[0]), where(b[0] > a[0], b[1], a[1])),
    commutative=False,
)
best, place = reduce((x, iota(n)), n, argmax, policy=ordered_tree)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast, overload

from xdsl.ir import SSAValue

from tilewright.core.codes.types import REDUCER_POLICY, REDUCER_STATES
from tilewright.core.dtypes import DType
from tilewright.core.errors import TileTypeError
from tilewright.core.source import user_span
from tilewright.ir.attrs import Policy
from tilewright.ir.types import is_tile
from tilewright.lang import operations
from tilewright.lang.base import StagedBase
from tilewright.lang.values import Number, Scalar, Tile

__all__ = ["StateReducer", "reducer"]

R_co = TypeVar("R_co", covariant=True)
State = tuple[Scalar, ...]
_Lift1 = Callable[[Any], Any]
_Lift2 = Callable[[Any, Any], Any]
_Lift3 = Callable[[Any, Any, Any], Any]
Lift = _Lift1 | _Lift2 | _Lift3
"""From one element of each tile. Spelled out, so that type checkers know the parameters of a lambda."""


@dataclass(frozen=True, slots=True, eq=False)
class StateReducer(Generic[R_co]):
    """A fold's states and the functions on them; see `reducer`, which makes one. `R_co` is what a fold gives."""

    name: str
    state: tuple[type[DType], ...]
    identity: tuple[Number, ...]
    merge: Callable[[Any, Any], Any]
    lift: Lift | None = None
    finish: Callable[[Any], Any] | None = None
    associative: bool = True
    commutative: bool = True
    is_single: bool = False

    def __repr__(self) -> str:
        return self.name

    def require(self, policy: Policy) -> None:
        """Raises TileTypeError (TW226) for a policy that asks for a law which this reducer does not declare."""
        law = remedy = ""
        if policy in (Policy.UNORDERED_TREE, Policy.ORDERED_TREE) and not self.associative:
            law, remedy = "associative", "fold_left or fold_right"
        elif policy is Policy.UNORDERED_TREE and not self.commutative:
            law, remedy = "commutative", "ordered_tree"
        if law:
            raise TileTypeError(
                REDUCER_POLICY.at(user_span(), policy=policy.value, law=law, name=self.name, remedy=remedy)
            )

    def lifted(self, elements: Sequence[Scalar]) -> list[SSAValue]:
        """The states of one contribution. Raises TileTypeError (TW225) for something else."""
        if self.lift is None:
            return self._checked("an element", elements[0] if len(elements) == 1 else tuple(elements))
        lift = cast("Callable[..., Any]", self.lift)
        return self._checked("lift", lift(*elements))

    def merged(self, first: State, second: State) -> list[SSAValue]:
        """Two states as one. Raises TileTypeError (TW225) for something else."""
        return self._checked("merge", self.merge(self._given(first), self._given(second)))

    @property
    def finisher(self) -> Callable[[State], Scalar] | None:
        """What makes the one result of a fold; raises TileTypeError (TW225) when it gives no scalar."""
        finish = self.finish
        return None if finish is None else lambda state: self._finished(finish(self._given(state)))

    def _finished(self, found: object) -> Scalar:
        if not isinstance(found, Scalar):
            raise self._refusal("finish", _described(found), "one scalar")
        return cast("Scalar", found)

    def _given(self, state: State) -> Scalar | State:
        return state[0] if self.is_single else state

    def _checked(self, what: str, found: object) -> list[SSAValue]:
        values = _listed(found)
        if len(values) != len(self.state):
            expected = f"{len(self.state)} states, {', '.join(map(repr, self.state))}"
            raise self._refusal(what, _described(found), expected)
        return [self._scalar(what, value, dtype) for value, dtype in zip(values, self.state, strict=True)]

    def _scalar(self, what: str, value: object, dtype: type[DType]) -> SSAValue:
        if isinstance(value, StagedBase) and (is_tile(value.ssa) or value.dtype != dtype):
            raise self._refusal(what, value.describe(), f"a scalar of {dtype!r}")
        return operations.lifted(value, dtype, what)

    def _refusal(self, what: str, got: str, expected: str) -> TileTypeError:
        return TileTypeError(
            REDUCER_STATES.at(user_span(), what=f"`{what}`", name=self.name, got=got, expected=expected)
        )


def _listed(found: object) -> list[object]:
    return list(cast("Sequence[object]", found)) if isinstance(found, tuple | list) else [found]


def _described(value: object) -> str:
    if isinstance(value, StagedBase):
        return value.describe()
    values = _listed(value)
    return f"{len(values)} values" if isinstance(value, tuple | list) else f"a {type(value).__name__}"


@overload
def reducer(
    *, state: type[DType], identity: Number, merge: Callable[[Any, Any], Any], lift: Lift | None = None,
    finish: Callable[[Any], Any] | None = None, name: str = "", associative: bool = True, commutative: bool = True,
) -> StateReducer[Tile]: ...  # fmt: skip
@overload
def reducer(
    *, state: Sequence[type[DType]], identity: Sequence[Number], merge: Callable[[Any, Any], Any],
    lift: Lift | None = None, finish: Callable[[Any], Any], name: str = "", associative: bool = True,
    commutative: bool = True,
) -> StateReducer[Tile]: ...  # fmt: skip
@overload
def reducer(
    *, state: Sequence[type[DType]], identity: Sequence[Number], merge: Callable[[Any, Any], Any],
    lift: Lift | None = None, finish: None = None, name: str = "", associative: bool = True,
    commutative: bool = True,
) -> StateReducer[tuple[Tile, ...]]: ...  # fmt: skip
def reducer(
    *, state: type[DType] | Sequence[type[DType]], identity: Number | Sequence[Number],
    merge: Callable[[Any, Any], Any], lift: Lift | None = None,
    finish: Callable[[Any], Any] | None = None, name: str = "", associative: bool = True, commutative: bool = True,
) -> StateReducer[Any]:  # fmt: skip
    """A reducer for `reduce` and `scan` with states of your own.

    state, identity: the element types of the states, and the values that change nothing when merged; a tuple of each,
                     or one of each when there is one state.
    merge:           two states as one; states are scalars, in a tuple unless there is one.
    lift:            the states of one element, or of one element of each tile folded; default: the elements themselves.
    finish:          one scalar from the states at the end; default: the states, one tile each.
    associative, commutative: the laws that `merge` keeps, up to rounding. A policy that needs another is refused, and
                     `check_reducer` tries the declared ones on samples.

    Raises TileTypeError (TW225) for another number of identities than states.
    """
    single = isinstance(state, type)
    states = (state,) if single else tuple(state)
    start = tuple(identity) if isinstance(identity, Sequence) else (identity,)
    shown = name or getattr(merge, "__name__", "reducer").replace("<lambda>", "reducer")
    if len(start) != len(states):
        got, expected = f"{len(start)} values", f"{len(states)}"
        raise TileTypeError(REDUCER_STATES.at(user_span(), what="`identity`", name=shown, got=got, expected=expected))
    return StateReducer(shown, states, start, merge, lift, finish, associative, commutative, is_single=single)
