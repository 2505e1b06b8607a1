"""Folds whose lanes lie along a kept dimension: several vectors side by side over one run along the folded ones.

Every element keeps the order in which its fold is written; only which elements are at work at once is chosen here.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilewright.bridge.xir.lower.access import store_to_storage
from tilewright.bridge.xir.lower.context import Lowering, Val
from tilewright.bridge.xir.lower.coords import Coord
from tilewright.bridge.xir.lower.nests import At, extents_of, run_nest
from tilewright.bridge.xir.lower.values import (
    as_carry,
    from_carry,
    run_inner_regions,
    scalar_value,
    settle_scalars,
    step_coord,
    yielded,
)
from tilewright.bridge.xir.records import NestPlan, Storage
from tilewright.ir.ops.regions import CarryingOp
from tilewright.ir.ops.tiles import MapOp
from tilewright.xir.constants import known_int

__all__ = ["fold_columns"]

Scope = Mapping[SSAValue, Val]


def fold_columns(cx: Lowering, op: MapOp, storage: Storage, nest: NestPlan) -> None:
    """Every element of a map around one fold, `nest.copies` vectors at a time."""
    (reduce,) = (inner for inner in op.body.block.ops if isinstance(inner, CarryingOp))
    outer = NestPlan(nest.what, tuple(dim for dim in nest.axes if dim != nest.lane), None, nest.width)
    columns = _Columns(cx, op, reduce, storage, nest)
    run_nest(cx, outer, extents_of(op.space), columns.along_lanes)


@dataclass(frozen=True)
class _Columns:
    cx: Lowering
    op: MapOp
    reduce: CarryingOp
    storage: Storage
    nest: NestPlan

    def along_lanes(self, at: At) -> None:
        """Groups of vectors, then the whole vectors that are left, then what is left of one."""
        settle_scalars(self.cx, self.op)
        lane, width = self.lane, self.nest.width
        bound = self.cx.bound_of(lane, extents_of(self.op.space)[lane])
        known = known_int(bound)
        if known is None:
            self._bounded(at, bound)
            return
        whole, rest = divmod(known, width)
        groups, left = divmod(whole, self.nest.copies)
        done = groups * self.nest.copies
        if groups == 1:
            self._group(at, self.cx.builder.i64(0), self.nest.copies)
        elif groups:
            with self.cx.loop(0, done * width, self.nest.copies * width) as loop:
                self._group(at, loop.index, self.nest.copies)
        if left:
            self._group(at, self.cx.builder.i64(done * width), left)
        if rest:
            with self.cx.lanes_active(rest):
                self._group(at, self.cx.builder.i64(whole * width), 1)

    def _bounded(self, at: At, bound: SSAValue) -> None:
        """The same where only the program knows how many columns it has."""
        b, width = self.cx.builder, self.nest.width
        grouped = b.sub(bound, b.remsi(bound, self.nest.copies * width))
        left = b.remsi(bound, width)
        whole = b.sub(bound, left)
        with self.cx.loop(0, grouped, self.nest.copies * width) as loop:
            self._group(at, loop.index, self.nest.copies)
        with self.cx.loop(grouped, whole, width) as loop:
            self._group(at, loop.index, 1)
        with b.if_(b.cmp("sgt", left, 0)), self.cx.lanes_active(left):
            self._group(at, whole, 1)

    @property
    def lane(self) -> int:
        """The dimension of the lanes, innermost of the nest."""
        return self.nest.axes[-1]

    def _group(self, at: At, first: SSAValue, copies: int) -> None:
        """Neighbouring vectors from a column on, all of them folded in one loop."""
        cx, lane = self.cx, self.lane
        starts = (cx.builder.add(first, copy * self.nest.width) for copy in range(copies))
        points = [{**at, lane: Coord(start, 1)} for start in starts]
        scopes = [self._arguments(point) for point in points]
        carries: list[SSAValue] = []
        for scope in scopes:
            with cx.scope(scope):
                carries += [as_carry(cx, scalar_value(cx, init)) for init in self.reduce.inits]
        folded = self._over(scopes, 0, {}, tuple(carries))
        size = len(self.reduce.inits)
        for copy, (point, scope) in enumerate(zip(points, scopes, strict=True)):
            mine = folded[copy * size : (copy + 1) * size]
            self._keep(point, {**scope, **self._carried(self.reduce.results_, mine)})

    def _arguments(self, point: At) -> Scope:
        coords = (point[axis.dim.number] for axis in self.op.space.axes)
        return dict(zip(self.op.body.block.args, coords, strict=True))

    def _carried(self, names: tuple[SSAValue, ...], values: tuple[SSAValue, ...]) -> Scope:
        return {name: from_carry(value, name) for name, value in zip(names, values, strict=True)}

    def _over(
        self, scopes: list[Scope], axis: int, indices: Scope, carries: tuple[SSAValue, ...]
    ) -> tuple[SSAValue, ...]:
        cx, reduce = self.cx, self.reduce
        if axis == reduce.space.rank:
            return self._step(scopes, indices, carries)
        extent = reduce.space.extents[axis]
        with cx.loop(0, extent, 1, carries) as loop:
            inner = {**indices, reduce.indices[axis]: step_coord(cx, reduce, loop.index, extent)}
            loop.yield_(self._over(scopes, axis + 1, inner, loop.carries))
        return loop.results

    def _step(self, scopes: list[Scope], indices: Scope, carries: tuple[SSAValue, ...]) -> tuple[SSAValue, ...]:
        """One contribution to each of the vectors."""
        cx, reduce, size = self.cx, self.reduce, len(self.reduce.inits)
        following: list[SSAValue] = []
        for copy, scope in enumerate(scopes):
            carried = self._carried(tuple(reduce.carries), carries[copy * size : (copy + 1) * size])
            with cx.scope({**scope, **indices, **carried}):
                run_inner_regions(cx, reduce.body.block)
                following += [as_carry(cx, scalar_value(cx, value)) for value in yielded(reduce.body.block.last_op)]
        return tuple(following)

    def _keep(self, point: At, scope: Scope) -> None:
        with self.cx.scope(scope):
            value = scalar_value(self.cx, yielded(self.op.body.block.last_op)[0])
        dims = self.storage.dims
        store_to_storage(self.cx, self.storage, dims, tuple(point[dim] for dim in dims), value)
