"""Small proofs on TIRx that array functions need: rectangular nests, row-major places, places beside each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.nodes import Buffer, Expr, Stmt

__all__ = ["Nest", "Proofs"]


@dataclass(frozen=True, slots=True)
class Nest:
    """Loops that run in order from 0 by 1, one inside the other, and the statements of the innermost."""

    indices: tuple[Expr, ...]
    extents: tuple[int, ...]
    statements: tuple[Stmt, ...]

    @property
    def volume(self) -> int:
        return prod(self.extents)


class Proofs:
    """Each method gives what it proved, or None or False."""

    def __init__(self, door: Door) -> None:
        self._door, self._tirx, self._ir = door, door.tirx, door.tvm.ir

    def nest(self, loop: Stmt) -> Nest | None:
        """The loops of a statement that hold nothing but each other."""
        indices, extents, body = list[Expr](), list[int](), loop
        while isinstance(body, self._tirx.For):
            extent = self._extent(body)
            if extent is None:
                return None
            indices.append(body.loop_var)
            extents.append(extent)
            body = body.body
        statements = tuple(body.seq) if isinstance(body, self._tirx.SeqStmt) else (body,)
        return Nest(tuple(indices), tuple(extents), statements) if indices else None

    def _extent(self, loop: Stmt) -> int | None:
        plain = loop.kind == self._tirx.ForKind.SERIAL and loop.thread_binding is None
        by_one = loop.step is None or self.number(loop.step) == 1
        extent = self.number(loop.extent)
        return extent if plain and by_one and self.number(loop.min) == 0 and extent else None

    def number(self, value: Expr) -> int | None:
        """The value of an integer constant."""
        return int(value.value) if isinstance(value, self._tirx.IntImm) else None

    def cells(self, buffer: Buffer) -> int | None:
        """How many elements a flat float32 buffer without strides has."""
        flat = str(buffer.dtype) == "float32" and len(buffer.shape) == 1 and not len(buffer.strides)
        return self.number(buffer.shape[0]) if flat else None

    def is_row_major(self, index: Expr, nest: Nest) -> bool:
        """Whether the index counts the points of a nest in the order in which it visits them."""
        factors = [0] * len(nest.indices)
        for term in self._terms(index):
            factor, rest = self._factor(term)
            place = next((at for at, var in enumerate(nest.indices) if rest is not None and var.same_as(rest)), None)
            if place is not None:
                factors[place] += factor
            elif rest is not None or factor:
                return False
        wanted = [prod(nest.extents[place + 1 :]) for place in range(len(factors))]
        return all(f == w for f, w, n in zip(factors, wanted, nest.extents, strict=True) if n > 1)

    def start_of_run(self, index: Expr, var: Expr) -> Expr | None:
        """The index where `var` is 0, if the index grows by 1 with it and by nothing else."""
        terms = self._terms(index)
        moving = [term for term in terms if self.mentions(term, var)]
        if len(moving) != 1 or not moving[0].same_as(var):
            return None
        total: Expr = self._tirx.IntImm("int64", 0)
        for term in terms:
            total = total if term.same_as(var) else self._tirx.Add(total, term)
        return total

    def mentions(self, value: Any, var: Expr) -> bool:
        """Whether a variable or buffer stands in an expression or statement."""
        found = list[bool]()

        def visit(each: Any) -> None:
            found.append(bool(each.same_as(var)))

        self._door.ffi.structural_walk(value, [(self._ir.Var, visit)], order="pre")
        return any(found)

    def _terms(self, index: Expr) -> Sequence[Expr]:
        if isinstance(index, self._tirx.Add):
            return [*self._terms(index.a), *self._terms(index.b)]
        return [index]

    def _factor(self, term: Expr) -> tuple[int, Expr | None]:
        """A number, and what it multiplies; None for a number alone."""
        alone = self.number(term)
        if alone is not None:
            return alone, None
        if isinstance(term, self._tirx.Mul):
            left, right = self.number(term.a), self.number(term.b)
            if left is not None and right is not None:
                return left * right, None
            if right is not None:
                return right, term.a
            if left is not None:
                return left, term.b
        return 1, term
