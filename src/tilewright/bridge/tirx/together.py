"""A proved body for a rectangle of elements: loops are walked once for all of it, and each row stores in its turn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tilewright.bridge.tirx.cells import Private
from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.lanes import Lane
from tilewright.bridge.tirx.masks import Masks
from tilewright.bridge.tirx.nodes import Expr, Nodes, Stmt
from tilewright.bridge.tirx.renewal import Renewal

__all__ = ["Columns", "Together"]

Known = Mapping[Expr, Expr]
Store = Callable[[Stmt, Known], Stmt]


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a rectangle: `width` lanes from an index on."""

    lane: Lane
    left: Expr
    width: int


class Together:
    """The statements of rectangles, and of single rows, which are rectangles of one."""

    def __init__(self, door: Door, renewal: Renewal) -> None:
        self._door, self._t, self._n, self._renewal = door, door.tirx, Nodes(door), renewal

    def vectors(self, own: Private, body: Stmt, columns: Columns, rows: Sequence[Known]) -> Stmt:
        """`body`, that of `own` or what is left of it without guards, in rows of which so much is known."""
        return self._own(own, body, rows, lambda store, known: self._vector(store, columns, known))

    def masked(self, own: Private, columns: Columns, rows: Sequence[Known]) -> Stmt:
        """The body of `own` with what lanes may not read under masks."""
        return self._own(own, own.body, rows, lambda store, known: self._masked(store, columns, known))

    def _own(self, own: Private, body: Stmt, rows: Sequence[Known], store: Store) -> Stmt:
        """With cells for every row."""
        cells = [{cell: self._renewal.buffer(cell) for cell in own.cells} for _ in rows]
        known = [{**row, **each} for row, each in zip(rows, cells, strict=True)]
        allocations = [self._n.allocate(cell, {}) for each in cells for cell in each.values()]
        return self._n.sequence([*allocations, self._statement(body, known, {}, store)])

    def _statement(self, body: Stmt, rows: Sequence[Known], known: Known, store: Store) -> Stmt:
        t = self._t
        match body:
            case t.SeqStmt():
                return t.SeqStmt([self._statement(each, rows, known, store) for each in body.seq])
            case t.For():
                index = self._renewal.index("k")
                inner = self._statement(body.body, rows, {**known, body.loop_var: index}, store)
                notes = dict(body.annotations)
                return t.For(index, body.min, body.extent, body.kind, inner, annotations=notes)
            case t.IfThenElse():
                then = self._statement(body.then_case, rows, known, store)
                return t.IfThenElse(self._renewal.copy(body.condition, {**rows[0], **known}), then, None)
            case _:
                return self._n.sequence([store(body, {**row, **known}) for row in rows])

    def _vector(self, store: Stmt, columns: Columns, known: Known) -> Stmt:
        lane = self._renewal.index("l")
        at = {columns.lane.index: self._n.add(columns.left, lane), columns.lane.slot: lane}
        body = self._renewal.copy(store, {**known, **at})
        return self._renewal.loop(lane, columns.width, body, self._t.ForKind.VECTORIZED)

    def _masked(self, store: Stmt, columns: Columns, known: Known) -> Stmt:
        masks = Masks(self._door, self._renewal, columns.lane, columns.left, columns.width, known)
        return masks.store(store)
