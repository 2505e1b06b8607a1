"""Indices of TIRx as sums of loop variables with whole factors; names and cells on the way are undone.

A program number that is taken apart, p // g and p % g where g divides how many there are, becomes two variables of
their own: together they count the same programs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tilewright.bridge.tirx.copies import is_cell
from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.nodes import Buffer, Expr, Stmt

__all__ = ["Form", "Forms"]


@dataclass(frozen=True, slots=True)
class Form:
    """constant + the sum of factor * variable; no factor is zero, and no variable always is."""

    constant: int
    terms: frozenset[tuple[Expr, int]] = frozenset()

    def plus(self, other: "Form") -> "Form":
        total = dict(self.terms)
        for var, factor in other.terms:
            total[var] = total.get(var, 0) + factor
        return Form(self.constant + other.constant, frozenset((var, f) for var, f in total.items() if f))

    def times(self, factor: int) -> "Form":
        if not factor:
            return Form(0)
        return Form(self.constant * factor, frozenset((var, each * factor) for var, each in self.terms))

    def at(self, places: Mapping[Expr, "Form"]) -> "Form":
        """With forms in the place of variables."""
        found = Form(self.constant)
        for var, factor in self.terms:
            found = found.plus(places.get(var, Form(0, frozenset({(var, 1)}))).times(factor))
        return found

    @property
    def variables(self) -> frozenset[Expr]:
        return frozenset(var for var, _ in self.terms)


class Forms:
    """What loops and statements have said so far."""

    def __init__(self, door: Door) -> None:
        self._door, self._t = door, door.tirx
        self.extents: dict[Expr, int] = {}
        self._known: dict[Expr, Form] = {}
        self._parts: dict[Expr, tuple[int, Form, Form]] = {}

    def enter(self, var: Expr, extent: int) -> bool:
        """A loop from 0 to below `extent`; False for a variable that was another loop's."""
        fresh = var not in self.extents
        self.extents[var] = extent
        return fresh

    def name(self, statement: Stmt) -> bool:
        """Whether a statement only names such a sum, once; if so it is known from now on."""
        t = self._t
        if isinstance(statement, t.Bind):
            name = statement.var
        elif isinstance(statement, t.BufferStore) and _is_index(t, statement.buffer):
            name = statement.buffer
        else:
            return False
        form = self.of(statement.value)
        if form is None or name in self._known:
            return False
        self._known[name] = form
        return True

    def of(self, e: Expr) -> Form | None:
        """None for what is no such sum."""
        t = self._t
        match e:
            case t.IntImm():
                return Form(int(e.value))
            case t.Add():
                a, b = self.of(e.a), self.of(e.b)
                return None if a is None or b is None else a.plus(b)
            case t.Mul():
                return self._product(self.of(e.a), self.of(e.b))
            case t.FloorDiv() | t.FloorMod():
                return self._part(e)
            case self._door.tvm.ir.TensorLoad():
                return self._known.get(e.source)
            case t.Var() if e in self._known:
                return self._known[e]
            case t.Var() if e in self.extents:
                return self._itself(e)
            case _:
                return None

    def _itself(self, var: Expr) -> Form:
        return Form(0, frozenset({(var, 1)} if self.extents[var] > 1 else ()))

    def _product(self, a: Form | None, b: Form | None) -> Form | None:
        if a is None or b is None or (a.terms and b.terms):
            return None
        return a.times(b.constant) if a.terms else b.times(a.constant)

    def _part(self, e: Any) -> Form | None:
        whole, by = self.of(e.a), self.of(e.b)
        if whole is None or by is None or by.terms or by.constant <= 0 or whole.constant or len(whole.terms) > 1:
            return None
        if not whole.terms:
            return Form(0)
        ((var, factor),) = whole.terms
        parts = self._split(var, by.constant) if factor == 1 else None
        if parts is None:
            return None
        return parts[0] if isinstance(e, self._t.FloorDiv) else parts[1]

    def _split(self, var: Expr, by: int) -> tuple[Form, Form] | None:
        """Quotient and remainder of a variable that is split in one way only."""
        if by == 1:
            return self._itself(var), Form(0)
        if var not in self._parts:
            if self.extents[var] % by:
                return None
            quotient, remainder = (self._t.Var(f"{var.name}_{part}", "int64") for part in ("quotient", "remainder"))
            self.extents |= {quotient: self.extents[var] // by, remainder: by}
            self._parts[var] = by, self._itself(quotient), self._itself(remainder)
        known, quotient, remainder = self._parts[var]
        return (quotient, remainder) if known == by else None

    def parts_of(self, var: Expr) -> frozenset[Expr]:
        """The variables into which one was taken apart in the end, without those that are always 0."""
        if var in self._parts:
            _, quotient, remainder = self._parts[var]
            parts = quotient.variables | remainder.variables
            return frozenset(part for each in parts for part in self.parts_of(each))
        return frozenset({var}) if self.extents[var] > 1 else frozenset()

    def counted(self, form: Form) -> tuple[int, frozenset[Expr]] | None:
        """How many numbers from 0 on a form counts, each once, and by which variables; None where it does not."""
        if form.constant or any(var in self._parts for var in form.variables):
            return None
        moving = sorted(((f, self.extents[var], var) for var, f in form.terms), key=_factor)
        total = 1
        for factor, extent, _ in moving:
            if factor != total:
                return None
            total *= extent
        return total, frozenset(var for *_, var in moving)


def _factor(term: tuple[int, int, Expr]) -> int:
    return term[0]


def _is_index(t: Any, buffer: Buffer) -> bool:
    return is_cell(t, buffer) and str(buffer.dtype) == "int64"
