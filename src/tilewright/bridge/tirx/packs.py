"""Automatic packs: where the nests of independent elements in a function go as vectors.

`rows.py` makes packs along the innermost axis, `rectangles.py` those over the two innermost ones.
"""

from typing import Any

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.nodes import Stmt
from tilewright.bridge.tirx.options import LANES
from tilewright.bridge.tirx.ranges import Ranges
from tilewright.bridge.tirx.realised import Realised
from tilewright.bridge.tirx.rectangles import Rectangle, RectanglePacks, rectangle_of
from tilewright.bridge.tirx.renewal import Renewal
from tilewright.bridge.tirx.rows import Proofs, Row, RowPacks, row_of
from tilewright.bridge.tirx.together import Forms, Together

__all__ = ["pack"]

INDEPENDENT = "tile.independent"
COUNTED = ("packed nests", "packs of several rows", "ragged ends", "guarded packs", "masked packs")


def pack(door: Door, function: Any, *, noalias: bool, budget: int = LANES) -> Realised:
    """The function with vector loops where they are proved, and a reason a nest that stays as it is.

    `budget` is how many elements a pack may have; beyond one vector it takes several rows.
    """
    packer = _Packer(door, function, apart=noalias, budget=budget)
    body = packer.statement(function.body)
    return Realised(function.with_body(body), packer.counters, tuple(dict.fromkeys(packer.declined)))


class _Packer:
    """One walk over the nests of a function."""

    def __init__(self, door: Door, function: Any, *, apart: bool, budget: int) -> None:
        self._t, self._budget, self._renewal = door.tirx, budget, Renewal(door)
        self._proofs = Proofs(door, list(function.params), Ranges(door, function.body), apart)
        together = Together(door, self._renewal, self._proofs.ranges)
        self._rows = RowPacks(door, self._renewal, together)
        self._rectangles = RectanglePacks(door, self._renewal, together, self._rows)
        self.counters: dict[str, int] = dict.fromkeys(COUNTED, 0)
        self.declined: list[str] = []

    def statement(self, statement: Stmt) -> Stmt:
        """The statement with its nests packed."""
        t = self._t
        match statement:
            case t.For():
                notes = statement.annotations
                rank = int(notes[INDEPENDENT]) if INDEPENDENT in notes else 0
                if rank:
                    return self._nest(statement, rank)
                return self._renewal.around(statement, self.statement(statement.body))
            case t.SeqStmt():
                return t.SeqStmt([self.statement(each) for each in statement.seq])
            case t.IfThenElse() if statement.else_case is None:
                return t.IfThenElse(statement.condition, self.statement(statement.then_case), None)
            case _:
                return statement

    def _nest(self, loop: Stmt, rank: int) -> Stmt:
        """The loop, `rank` loops from the innermost of its nest on."""
        if rank > 1 and isinstance(loop.body, self._t.For):
            return (self._rectangle(loop) if rank == 2 else None) or self._renewal.around(
                loop, self._nest(loop.body, rank - 1)
            )
        row = "its nest is not rectangular" if rank > 1 else row_of(self._proofs, loop)
        if isinstance(row, str):
            self.declined.append(f"no packs along {loop.loop_var.name}: {row}")
            return self._renewal.around(loop, self.statement(loop.body))
        self._count(row, row.forms)
        return self._rows.all_of(row)

    def _rectangle(self, loop: Stmt) -> Stmt | None:
        row = row_of(self._proofs, loop.body) if self._budget > LANES else ""
        if isinstance(row, str):
            return None
        found = rectangle_of(self._proofs, loop, row, self._budget)
        if not isinstance(found, Rectangle):
            if found:
                self.declined.append(f"no packs of several rows along {loop.loop_var.name}: {found}")
            return None
        self._count(row, found.forms)
        self.counters["packs of several rows"] += 1
        self.counters["ragged ends"] += bool(int(loop.extent.value) % found.down.width)
        return self._rectangles.all_of(found)

    def _count(self, row: Row, forms: Forms) -> None:
        self.counters["packed nests"] += 1
        self.counters["ragged ends"] += bool(int(row.loop.extent.value) % row.width)
        self.counters["guarded packs"] += bool(forms.bare.guards)
        self.counters["masked packs"] += forms.has_masks
