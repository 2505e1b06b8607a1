"""Running folds: an independent nest over the other axes, one ordered loop along the scanned one.

A right fold of i elements is no step away from that of i - 1: each element has its own loop, from it back to the first.
"""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tilewright.bridge.tirx.export.context import Exporter, Notes, Point, Stored
from tilewright.bridge.tirx.nodes import Expr
from tilewright.ir.attrs import Policy
from tilewright.ir.ops.tiles import ScanOp
from tilewright.ir.types import POINT, SpaceAttr, dtype_of, element_of, space_of

__all__ = ["export_scan"]


def export_scan(cx: Exporter, op: ScanOp) -> None:
    """Every result into a buffer of its own."""
    space = space_of(op.tiles[0])
    rest = SpaceAttr.of(axis for axis in space.axes if axis.dim != op.dim)
    results = [cx.allocate(dtype_of(element_of(tile)), space_of(tile)) for tile in op.tiles]
    states = [cx.allocate(dtype_of(element_of(seed)), POINT, "c", {"tile.carry": 1}) for seed in op.seeds]
    scan = _Scan(cx, op, space.extent_of(op.dim) or 0, states, results)
    with cx.nest(rest, notes={"tile.independent": rest.rank}) as indices:
        at = dict(zip(rest.dims, indices, strict=True))
        if op.policy.data is Policy.FOLD_RIGHT:
            scan.from_every_start(at)
        else:
            scan.in_one_go(at)
    for value, stored in zip(op.results_, results, strict=True):
        cx.tiles[value] = cx.tile_of(stored)


class _Scan:
    """One scan, at a point of the axes that are not scanned."""

    def __init__(
        self, cx: Exporter, op: ScanOp, extent: int, states: Sequence[Stored], results: Sequence[Stored]
    ) -> None:
        self.cx, self.op, self.extent, self.states, self.results = cx, op, extent, states, results
        self.notes: Notes = {"tile.reduction": str(op.policy.data)}

    def in_one_go(self, at: Point) -> None:
        """Each result is one step away from the one before."""
        self._seed(at)
        with self.cx.loop(self.extent, "s", self.notes) as index:
            point = self._point(at, index)
            if bool(self.op.exclusive):
                self._keep(point)
            self._step(point)
            if not bool(self.op.exclusive):
                self._keep(point)

    def from_every_start(self, at: Point) -> None:
        """The i-th result from scratch: the elements i (or i - 1 when exclusive) down to 0, folded into the seeds."""
        n = self.cx.n
        with self.cx.loop(self.extent, "s", self.notes) as index:
            self._seed(at)
            with self.cx.loop(self.extent, "r") as turn:
                place = self.cx.once(n.sub(n.i64(self.extent - 1), turn))
                folds = n.lt(place, index) if bool(self.op.exclusive) else n.le(place, index)
                with self.cx.guarded(folds):
                    self._step(self._point(at, place))
            self._keep(self._point(at, index))

    def _point(self, at: Point, place: Expr) -> Point:
        """Where the element stands that is `place` elements from the end at which the scan begins."""
        n = self.cx.n
        where = self.cx.once(n.sub(n.i64(self.extent - 1), place)) if bool(self.op.reverse) else place
        return {**at, self.op.dim: where}

    def _seed(self, at: Point) -> None:
        for state, seed in zip(self.states, self.op.seeds, strict=True):
            self.cx.write(state, {}, self.cx.element(seed, at))

    def _step(self, at: Point) -> None:
        cx, arguments = self.cx, self.op.body.block.args
        values = [cx.once(cx.read(state, {})) for state in self.states]
        values += [cx.once(cx.element(tile, at)) for tile in self.op.tiles]
        cx.scalars.update(zip(arguments, values, strict=True))
        cx.run(self.op.body.block, self._replace)

    def _replace(self, yielded: Sequence[SSAValue]) -> None:
        values = [self.cx.once(self.cx.element(value, {})) for value in yielded]
        for state, value in zip(self.states, values, strict=True):
            self.cx.write(state, {}, value)

    def _keep(self, at: Point) -> None:
        for state, result in zip(self.states, self.results, strict=True):
            self.cx.write(result, at, self.cx.read(state, {}))
