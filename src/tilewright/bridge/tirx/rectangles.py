"""Cartesian packs: rows of neighbours that go through an ordered loop together, so that they share what they load.

    for m, n:                          for packs of rows and of columns:
        t[m, n] = c[m, n]                  for each row: t[row, 16 columns] = c[row, 16 columns]
        for k: t[m, n] += a * b            for k: for each row: t[row, 16 columns] += a * b

Each row keeps a vector of its own; an element has its steps in the order that they had. It takes a nest with an ordered
loop in its body: without one, rows would share nothing in time. The elements of one rectangle must store to places of
their own and read nothing else of what is stored. Rows that are left over make smaller rectangles; one in which a
guard does not hold goes under masks, or as packs of one row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.guards import Lanes, guarded_by, too_many
from tilewright.bridge.tirx.lanes import Lane, is_plain, step_of
from tilewright.bridge.tirx.nodes import Expr, Nodes, Stmt
from tilewright.bridge.tirx.parts import Part, parts_of
from tilewright.bridge.tirx.renewal import Renewal
from tilewright.bridge.tirx.rows import Proofs, Row, RowPacks, parts_of_row
from tilewright.bridge.tirx.together import Forms, Together

__all__ = ["Rectangle", "RectanglePacks", "rectangle_of", "rows_of"]


def rows_of(extent: int, width: int, budget: int) -> int:
    """Rows of a rectangle: a power of two that goes into the extent, within a budget of elements."""
    rows = 1
    while rows * 2 * width <= budget and rows * 2 <= extent:
        rows *= 2
    return rows


@dataclass(frozen=True, slots=True)
class Rectangle:
    """The loop over rows around a row of packs, and the forms of the body in rectangles."""

    loop: Stmt
    row: Row
    down: Lane
    forms: Forms


def rectangle_of(proofs: Proofs, loop: Stmt, row: Row, budget: int) -> Rectangle | str:
    """The loop around a proved row as rectangles, or why it is none; empty where it has nothing to gain."""
    if not is_plain(proofs.door, loop) or not _has_loop(proofs.door.tirx, row.loop.body):
        return ""
    down = Lane(proofs.door, loop.loop_var, rows_of(int(loop.extent.value), row.width, budget))
    if down.width == 1:
        return ""
    forms = _forms(proofs, _RowProof(proofs.door, down, row), [down, row.lane], row.forms)
    return forms if isinstance(forms, str) else Rectangle(loop, row, down, forms)


def _forms(proofs: Proofs, rows: "_RowProof", sides: Sequence[Lane], one_row: Forms) -> Forms | str:
    """Those of one row, as far as all rows can go together in them; the guards are those of all sides."""
    own = one_row.own
    apart = rows.reason_against(own.body)
    if one_row.needs_masks:
        return apart or one_row
    bare = guarded_by(proofs.door, sides, proofs.ranges, own.body)
    reason = too_many(bare) or proofs.against(sides[-1], bare.body) or rows.reason_against(bare.body)
    return reason or Forms(own, bare, has_masks=one_row.has_masks and not apart)


def _has_loop(t: Any, statement: Stmt) -> bool:
    if isinstance(statement, t.SeqStmt):
        return any(_has_loop(t, each) for each in statement.seq)
    return isinstance(statement, t.For)


class _RowProof:
    """That the rows of a rectangle store to places of their own, and share what stands around their stores.

    That a row reads nothing else of what is stored is proved with its lanes: what they read has the index of the store.
    """

    def __init__(self, door: Door, down: Lane, row: Row) -> None:
        self._door, self._t, self._down, self._row = door, door.tirx, down, row
        self._inside: list[Lane] = []

    def reason_against(self, body: Stmt) -> str:
        """Why rows may not go together; empty if they may."""
        t = self._t
        match body:
            case t.SeqStmt():
                return next((reason for each in body.seq if (reason := self.reason_against(each))), "")
            case t.For():
                self._inside.append(Lane(self._door, body.loop_var, int(body.extent.value)))
                return self.reason_against(body.body)
            case t.IfThenElse():
                differs = "whether an element is stored differs by row"
                return differs if self._down.varies(body.condition) else self.reason_against(body.then_case)
            case _:
                own = any(body.buffer.same_as(cell) for cell in self._row.forms.own.cells)
                apart = own or any(map(self._tells_apart, body.indices))
                return "" if apart else f"its rows may meet in {body.buffer.name}"

    def _tells_apart(self, index: Expr) -> bool:
        """Whether elements of different rows have different indices, whatever their columns and steps."""
        steep, flat, steps = self._down.slope(index), self._row.lane.slope(index), step_of(self._inside, index)
        if not steep or flat is None or steps is None:
            return False
        columns, rows = abs(flat) * (self._row.width - 1), abs(steep) * (self._down.width - 1)
        return abs(steep) > columns and (steps == 0 or steps > rows + columns)


class RectanglePacks:
    """The statements of rectangles."""

    def __init__(self, door: Door, renewal: Renewal, together: Together, row_packs: RowPacks) -> None:
        self._door, self._t, self._n = door, door.tirx, Nodes(door)
        self._renewal, self._together, self._row_packs = renewal, together, row_packs

    def all_of(self, found: Rectangle) -> Stmt:
        """Rectangles of most rows, then of fewer, and at last single rows; the columns of each in packs."""
        down = found.loop
        parts = parts_of(int(down.min.value), int(down.extent.value), found.down.width, 2)
        return self._n.sequence([self._down(found, part) for part in parts])

    def _down(self, found: Rectangle, part: Part) -> Stmt:
        if part.size == 1:
            return self._rows(found, self._n.i64(part.begin), part.groups, self._row_packs.all_of(found.row))

        def across(top: Expr) -> Stmt:
            return self._n.sequence([self._across(found, top, part.size, each) for each in parts_of_row(found.row)])

        return self._renewal.groups(part, "r", across)

    def _across(self, found: Rectangle, top: Expr, rows: int, part: Part) -> Stmt:
        if part.size == 1:
            rest = self._row_packs.one_by_one(found.row, self._n.i64(part.begin), part.groups)
            return self._rows(found, top, rows, rest)
        return self._renewal.groups(part, "q", lambda left: self._at(found, top, rows, left, part.size))

    def _at(self, found: Rectangle, top: Expr, rows: int, left: Expr, width: int) -> Stmt:
        """The rectangle that begins at a row and a column."""
        row, sides = found.row, [Lanes(found.down, top, rows), Lanes(found.row.lane, left, width)]
        known = [{found.down.index: self._n.add(top, self._n.i64(number))} for number in range(rows)]

        def in_order() -> Stmt:
            return self._rows(found, top, rows, self._row_packs.at(row, left, width))

        return self._together.pack(found.forms, sides, known, in_order)

    def _rows(self, found: Rectangle, top: Expr, count: int, each: Stmt) -> Stmt:
        """`each`, which is made for the loop's own index, for so many rows."""
        row = self._renewal.index("r")
        at = {found.down.index: self._n.add(top, row)}
        return self._renewal.loop(row, count, self._renewal.copy(each, at), self._t.ForKind.SERIAL)
