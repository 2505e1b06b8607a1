"""Cartesian packs: rows of neighbours that go through an ordered loop together, so that they share what they load.

    for m, n:                          for packs of rows and of columns:
        t[m, n] = c[m, n]                  for each row: t[row, 16 columns] = c[row, 16 columns]
        for k: t[m, n] += a * b            for k: for each row: t[row, 16 columns] += a * b

Each row keeps a vector of its own; an element has its steps in the order that they had. It takes a nest with an ordered
loop in its body: without one, rows would share nothing in time. The elements of one rectangle must store to places of
their own and read nothing else of what is stored. Rows that are left over, and packs in which a guard does not hold,
go as packs of one row.
"""

from collections.abc import Iterable, Mapping, Sequence
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
        """All rows."""
        return int(self.loop.extent.value)


def rectangle_of(proofs: Proofs, loop: Stmt, row: Row, budget: int) -> Rectangle | str:
    """The loop around a proved row as rectangles, or why it is none; empty where it has nothing to gain."""
    if not is_plain(proofs.door, loop) or not _has_loop(proofs.door.tirx, row.loop.body):
        return ""
    down = Lane(proofs.door, loop.loop_var, rows_of(int(loop.extent.value), row.width, budget))
    if down.width == 1:
        return ""
    bare = guarded_by(proofs.door, [down, row.lane], proofs.ranges, row.loop.body)
    return _against(proofs, down, row, bare) or Rectangle(loop, row, down, bare)


def _against(proofs: Proofs, down: Lane, row: Row, bare: Guarded) -> str:
    if len(bare.guards) > MOST_GUARDS:
        return f"more than {MOST_GUARDS} guards differ by element"
    return proofs.against(row.lane, bare.body) or _rows_meet(proofs.door, [down, row.lane], (), bare.body)


def _has_loop(t: Any, statement: Stmt) -> bool:
    if isinstance(statement, t.SeqStmt):
        return any(_has_loop(t, each) for each in statement.seq)
    return isinstance(statement, t.For)


def _rows_meet(door: Door, sides: Sequence[Lane], inside: Sequence[Lane], body: Stmt) -> str:
    """Why two rows of a rectangle may store to one place, or may not share what stands around their stores.

    That a row reads nothing else of what is stored is proved with its lanes: what they read has the index of the store.
    """
    t, down = door.tirx, sides[0]
    match body:
        case t.SeqStmt():
            return next(filter(None, (_rows_meet(door, sides, inside, each) for each in body.seq)), "")
        case t.For():
            loop = Lane(door, body.loop_var, int(body.extent.value))
            return _rows_meet(door, sides, (*inside, loop), body.body)
        case t.IfThenElse():
            differs = "whether an element is stored differs by row"
            return differs if down.varies(body.condition) else _rows_meet(door, sides, inside, body.then_case)
        case _:
            apart = any(_tells_apart(sides, inside, index) for index in body.indices)
            return "" if apart else f"its rows may meet in {body.buffer.name}"


def _tells_apart(sides: Sequence[Lane], inside: Sequence[Lane], index: Expr) -> bool:
    """Whether elements of different rows have different indices, whatever their columns and steps."""
    down, across = sides
    steep, flat, steps = down.slope(index), across.slope(index), step_of(inside, index)
    if not steep or flat is None or steps is None:
        return False
    columns, rows = abs(flat) * (across.width - 1), abs(steep) * (down.width - 1)
    return abs(steep) > columns and (steps == 0 or steps > rows + columns)


class RectanglePacks:
    """The statements of rectangles."""

    def __init__(self, door: Door, renewal: Renewal, row_packs: RowPacks) -> None:
        self._door, self._t, self._n, self._renewal, self._row_packs = (
            door, door.tirx, Nodes(door), renewal, row_packs
        )  # fmt: skip

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
        row = found.row
        together = self._together(found, found.bare.body, top, left, {})
        if not found.bare.guards:
            return together
        hold = every_lane(self._door, [Lanes(found.down, top), Lanes(row.lane, left)], found.bare.guards)
        return self._t.IfThenElse(hold, together, self._rows(found, top, found.rows, self._row_packs.at(row, left)))

    def _together(self, found: Rectangle, body: Stmt, top: Expr, left: Expr, known: Mapping[Expr, Expr]) -> Stmt:
        """The body with what the rows share around them: loops are walked once, and each row stores in its turn."""
        t = self._t
        match body:
            case t.SeqStmt():
                return t.SeqStmt([self._together(found, each, top, left, known) for each in body.seq])
            case t.For():
                index = self._renewal.index("k")
                inner = self._together(found, body.body, top, left, {**known, body.loop_var: index})
                notes = dict(body.annotations)
                return t.For(index, body.min, body.extent, body.kind, inner, annotations=notes)
            case t.IfThenElse():
                then = self._together(found, body.then_case, top, left, known)
                return t.IfThenElse(self._renewal.expression(body.condition, known), then, None)
            case _:
                return self._n.sequence(list(self._row_stores(found, body, top, left, known)))

    def _row_stores(
        self, found: Rectangle, store: Stmt, top: Expr, left: Expr, known: Mapping[Expr, Expr]
    ) -> Iterable[Stmt]:
        n, renewal = self._n, self._renewal
        for number in range(found.rows):
            lane = renewal.index("l")
            at = {found.loop.loop_var: n.add(top, n.i64(number)), found.row.loop.loop_var: n.add(left, lane)}
            each = renewal.statement(store, {**known, **at})
            yield renewal.loop(lane, found.row.width, each, self._t.ForKind.VECTORIZED)

    def _rows(self, found: Rectangle, top: Expr, count: int, each: Stmt) -> Stmt:
        """`each`, which is made for the loop's own index, for so many rows."""
        row = self._renewal.index("r")
        at = {found.loop.loop_var: self._n.add(top, row)}
        return self._loop(row, count, self._renewal.statement(each, at))

    def _loop(self, index: Expr, extent: int, body: Stmt) -> Stmt:
        return self._renewal.loop(index, extent, body, self._t.ForKind.SERIAL)
