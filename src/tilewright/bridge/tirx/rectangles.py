"""Cartesian packs: rows of neighbours that go through an ordered loop together, so that they share what they load.

    for m, n:                          for packs of rows and of columns:
        t[m, n] = c[m, n]                  for each row: t[row, 16 columns] = c[row, 16 columns]
        for k: t[m, n] += a * b            for k: for each row: t[row, 16 columns] += a * b

Each row keeps a vector of its own; an element has its steps in the order that they had. It takes a nest with an ordered
loop in its body: without one, rows would share nothing in time. The elements of one rectangle must store to places of
their own and read nothing else of what is stored. Rows that are left over, and packs in which a guard does not hold,
go as packs of one row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.guards import MOST_GUARDS, Guarded, Lanes, every_lane, guarded_by
from tilewright.bridge.tirx.lanes import Lane, is_plain, step_of
from tilewright.bridge.tirx.nodes import Expr, Nodes, Stmt
from tilewright.bridge.tirx.renewal import Renewal
from tilewright.bridge.tirx.rows import Proofs, Row, RowPacks

__all__ = ["Rectangle", "RectanglePacks", "rectangle_of", "rows_of"]


def rows_of(extent: int, width: int, budget: int) -> int:
    """Rows of a rectangle: a power of two that goes into the extent, within a budget of elements."""
    rows = 1
    while rows * 2 * width <= budget and rows * 2 <= extent:
        rows *= 2
    return rows


@dataclass(frozen=True, slots=True)
class Rectangle:
    """The loop over rows around a row of packs, where the guards of `bare` hold everywhere in a rectangle."""

    loop: Stmt
    row: Row
    down: Lane
    bare: Guarded

    @property
    def rows(self) -> int:
        """Rows of one rectangle."""
        return self.down.width

    @property
    def begin(self) -> int:
        """The index of the first row."""
        return int(self.loop.min.value)

    @property
    def extent(self) -> int:
        """All rows of the loop."""
        return int(self.loop.extent.value)


def rectangle_of(proofs: Proofs, loop: Stmt, row: Row, budget: int) -> Rectangle | str:
    """The loop around a proved row as rectangles, or why it is none; empty where it has nothing to gain."""
    if not is_plain(proofs.door, loop) or not _has_loop(proofs.door.tirx, row.loop.body):
        return ""
    down = Lane(proofs.door, loop.loop_var, rows_of(int(loop.extent.value), row.width, budget))
    if down.width == 1:
        return ""
    bare = guarded_by(proofs.door, [down, row.lane], proofs.ranges, row.own.body)
    return _against(proofs, down, row, bare) or Rectangle(loop, row, down, bare)


def _against(proofs: Proofs, down: Lane, row: Row, bare: Guarded) -> str:
    if len(bare.guards) > MOST_GUARDS:
        return f"more than {MOST_GUARDS} guards differ by element"
    return proofs.against(row.lane, bare.body) or _RowProof(proofs.door, down, row).reason_against(bare.body)


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
                own = any(body.buffer.same_as(cell) for cell in self._row.own.cells)
                apart = own or any(map(self._tells_apart, body.indices))
                return "" if apart else f"its rows may meet in {body.buffer.name}"

    def _tells_apart(self, index: Expr) -> bool:
        """Whether elements of different rows have different indices, whatever their columns and steps."""
        steep, flat, steps = self._down.slope(index), self._row.lane.slope(index), step_of(self._inside, index)
        if not steep or flat is None or steps is None:
            return False
        columns, rows = abs(flat) * (self._row.width - 1), abs(steep) * (self._down.width - 1)
        return abs(steep) > columns and (steps == 0 or steps > rows + columns)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a rectangle stands: what is known in each of its rows, and its first column."""

    row: Row
    rows: tuple[Mapping[Expr, Expr], ...]
    left: Expr


class RectanglePacks:
    """The statements of rectangles."""

    def __init__(self, door: Door, renewal: Renewal, row_packs: RowPacks) -> None:
        self._door, self._t, self._n = door, door.tirx, Nodes(door)
        self._renewal, self._row_packs = renewal, row_packs
        self._vectorized = door.tirx.ForKind.VECTORIZED

    def all_of(self, found: Rectangle) -> Stmt:
        """Whole rectangles with what is left of their rows, and then the rows that are left."""
        n, renewal, row = self._n, self._renewal, found.row
        down, across = renewal.index("r"), renewal.index("q")
        top, left = renewal.place(found.begin, down, found.rows), self._row_packs.first_of(row, across)
        packs = self._loop(across, row.extent // row.width, self._at(found, top, left))
        rest = [self._rows(found, top, found.rows, each) for each in self._row_packs.rest(row)]
        whole = self._loop(down, found.extent // found.rows, n.sequence([packs, *rest]))
        over = found.extent % found.rows
        if not over:
            return whole
        return n.sequence(
            [whole, self._rows(found, n.i64(found.begin + found.extent - over), over, self._row_packs.all_of(row))]
        )

    def _at(self, found: Rectangle, top: Expr, left: Expr) -> Stmt:
        """The rectangle that begins at a row and a column."""
        row, together = found.row, self._whole(found, top, left)
        if not found.bare.guards:
            return together
        hold = every_lane(self._door, [Lanes(found.down, top), Lanes(row.lane, left)], found.bare.guards)
        return self._t.IfThenElse(hold, together, self._rows(found, top, found.rows, self._row_packs.at(row, left)))

    def _whole(self, found: Rectangle, top: Expr, left: Expr) -> Stmt:
        n, cells = self._n, found.row.own.cells
        own = [{cell: self._renewal.buffer(cell) for cell in cells} for _ in range(found.rows)]
        rows = tuple({found.down.index: n.add(top, n.i64(number)), **each} for number, each in enumerate(own))
        allocations = [n.allocate(cell, {}) for each in own for cell in each.values()]
        return n.sequence([*allocations, self._together(found.bare.body, _Place(found.row, rows, left), {})])

    def _together(self, body: Stmt, place: _Place, known: Mapping[Expr, Expr]) -> Stmt:
        """The body with what the rows share around them: loops are walked once, and each row stores in its turn."""
        t = self._t
        match body:
            case t.SeqStmt():
                return t.SeqStmt([self._together(each, place, known) for each in body.seq])
            case t.For():
                index = self._renewal.index("k")
                inner = self._together(body.body, place, {**known, body.loop_var: index})
                notes = dict(body.annotations)
                return t.For(index, body.min, body.extent, body.kind, inner, annotations=notes)
            case t.IfThenElse():
                condition = self._renewal.copy(body.condition, known)
                return t.IfThenElse(condition, self._together(body.then_case, place, known), None)
            case _:
                return self._n.sequence([self._store(body, place, {**known, **each}) for each in place.rows])

    def _store(self, store: Stmt, place: _Place, known: Mapping[Expr, Expr]) -> Stmt:
        lane, across = self._renewal.index("l"), place.row.lane
        at = {across.index: self._n.add(place.left, lane), across.slot: lane}
        return self._renewal.loop(lane, across.width, self._renewal.copy(store, {**known, **at}), self._vectorized)

    def _rows(self, found: Rectangle, top: Expr, count: int, each: Stmt) -> Stmt:
        """`each`, which is made for the loop's own index, for so many rows."""
        row = self._renewal.index("r")
        at = {found.loop.loop_var: self._n.add(top, row)}
        return self._loop(row, count, self._renewal.copy(each, at))

    def _loop(self, index: Expr, extent: int, body: Stmt) -> Stmt:
        return self._renewal.loop(index, extent, body, self._t.ForKind.SERIAL)
