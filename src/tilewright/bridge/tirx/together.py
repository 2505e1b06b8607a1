"""A proved body for a rectangle of elements: loops are walked once for all of it, and each row stores in its turn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tilewright.bridge.tirx.cells import Private
from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.guards import Guarded, Lanes, every_lane
from tilewright.bridge.tirx.lanes import Lane
from tilewright.bridge.tirx.masks import Masks
from tilewright.bridge.tirx.nodes import Expr, Nodes, Stmt
from tilewright.bridge.tirx.ranges import Ranges
from tilewright.bridge.tirx.renewal import Renewal
from tilewright.bridge.tirx.steps import Stretch, stretches_of

__all__ = ["Forms", "Together"]

Known = Mapping[Expr, Expr]


_Store = Callable[[Stmt, Lanes, Known], Stmt]


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms of a body in packs: `own` has a cell a lane, and `bare` is that without the guards that `bare` names.

    Where those do not hold, it goes under masks if it has any; it may have guards that only masks can heed.
    """

    own: Private
    bare: Guarded
    has_masks: bool = False
    needs_masks: bool = False


@dataclass(frozen=True, slots=True)
class _Group:
    """What goes together: what is known in each row, and how one row stores."""

    lane: Lane
    rows: Sequence[Known]
    store: Callable[[Stmt, Known], Stmt]

    def tells_apart(self, door: Door, e: Expr) -> bool:
        """Whether an expression may differ between the elements."""
        found = list[Expr]()
        door.ffi.structural_walk(e, [(door.tirx.Var, found.append)], order="pre")
        return self.lane.varies(e) or any(var in row for var in found for row in self.rows)


class Together:
    """The statements of rectangles, and of single rows, which are rectangles of one."""

    def __init__(self, door: Door, renewal: Renewal, ranges: Ranges) -> None:
        self._door, self._t, self._n = door, door.tirx, Nodes(door)
        self._renewal, self._ranges = renewal, ranges

    def pack(self, forms: Forms, sides: Sequence[Lanes], rows: Sequence[Known], in_order: Callable[[], Stmt]) -> Stmt:
        """One pack, in rows of which so much is known: without its guards where they hold on all sides, and else under
        masks, or `in_order`.
        """
        own, columns = forms.own, sides[-1]
        if forms.needs_masks:
            return self._own(own, own.body, columns, rows, self._masked)
        whole = self._own(own, forms.bare.body, columns, rows, self._vector)
        if not forms.bare.guards:
            return whole
        hold = every_lane(self._door, sides, forms.bare.guards)
        other = self._own(own, own.body, columns, rows, self._masked) if forms.has_masks else in_order()
        return self._t.IfThenElse(hold, whole, other)

    def _own(self, own: Private, body: Stmt, columns: Lanes, rows: Sequence[Known], store: _Store) -> Stmt:
        """With cells for every row."""
        cells = [{cell: self._renewal.buffer(cell) for cell in own.cells} for _ in rows]
        known = [{**row, **each} for row, each in zip(rows, cells, strict=True)]
        allocations = [self._n.allocate(cell, {}) for each in cells for cell in each.values()]
        group = _Group(columns.lane, known, lambda each, known: store(each, columns, known))
        return self._n.sequence([*allocations, self._statement(body, group, {})])

    def _statement(self, body: Stmt, group: _Group, known: Known) -> Stmt:
        t = self._t
        match body:
            case t.SeqStmt():
                return t.SeqStmt([self._statement(each, group, known) for each in body.seq])
            case t.For():
                return self._loop(body, group, known)
            case t.IfThenElse():
                condition = self._renewal.copy(body.condition, {**group.rows[0], **known})
                return t.IfThenElse(condition, self._statement(body.then_case, group, known), None)
            case _:
                return self._n.sequence([group.store(body, {**row, **known}) for row in group.rows])

    def _loop(self, loop: Stmt, group: _Group, known: Known) -> Stmt:
        """A loop, or two, where a guard that all elements share holds up to some step."""
        varies = partial(group.tells_apart, self._door)
        parts = stretches_of(self._door, self._ranges, loop, varies)
        return self._n.sequence([self._stretch(loop, part, group, known) for part in parts])

    def _stretch(self, loop: Stmt, part: Stretch, group: _Group, known: Known) -> Stmt:
        index = self._renewal.index("k")
        first, count = (self._renewal.copy(e, known) for e in (part.first, part.count))
        is_begin = isinstance(first, self._t.IntImm) and not int(first.value)
        step = index if is_begin else self._n.add(first, index)
        body = self._statement(part.body, group, {**known, loop.loop_var: step})
        return self._t.For(index, self._n.i64(0), count, loop.kind, body, annotations=dict(loop.annotations))

    def _vector(self, store: Stmt, columns: Lanes, known: Known) -> Stmt:
        lane = self._renewal.index("l")
        at = {columns.lane.index: self._n.add(columns.first, lane), columns.lane.slot: lane}
        body = self._renewal.copy(store, {**known, **at})
        return self._renewal.loop(lane, columns.width, body, self._t.ForKind.VECTORIZED)

    def _masked(self, store: Stmt, columns: Lanes, known: Known) -> Stmt:
        masks = Masks(self._door, self._renewal, columns.lane, columns.first, columns.width, known)
        return masks.store(store)
