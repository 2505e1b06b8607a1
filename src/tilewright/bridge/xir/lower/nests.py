"""Loop nests over the points of a space: plain loops outside, whole vectors innermost, and one masked tail."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Protocol

from xdsl.ir import SSAValue

from tilewright.bridge.xir.lower.access import access_index, guards_of, line_offset, store_to_storage, store_to_view
from tilewright.bridge.xir.lower.context import Lowering
from tilewright.bridge.xir.lower.coords import Coord
from tilewright.bridge.xir.lower.squares import run_squares
from tilewright.bridge.xir.lower.values import coord_values, operand_value, tile_value
from tilewright.bridge.xir.records import NestPlan, Storage
from tilewright.ir.ops.access import StoreOp
from tilewright.ir.types import DimAttr, SpaceAttr, dtype_of, space_of, view_type
from tilewright.xir.constants import known_int

__all__ = ["copy_nest", "extents_of", "fill_storage", "run_nest", "store_tiles"]

At = Mapping[int, Coord]
Write = Callable[[], None]
Body = Callable[[At], Write | None]
"""Computes what belongs to a point. What it returns writes it: neighbouring vectors are all computed before any is
written."""


def extents_of(*spaces: SpaceAttr) -> dict[int, int]:
    """The extent of every dimension, by number."""
    return {axis.dim.number: axis.extent for space in spaces for axis in space.axes}


Lead = Callable[[At], SSAValue]
"""How many lanes at the start of a row come before its first whole vector."""


def run_nest(cx: Lowering, nest: NestPlan, extents: Mapping[int, int], body: Body, lead: Lead | None = None) -> None:
    """Run `body` at every point, `nest.width` lanes at a time along the lane dimension."""
    with cx.fresh(nest):
        _Loops(cx, nest, extents, body, lead).over(0, {})


@dataclass(frozen=True, slots=True)
class _Loops:
    """The loops of one nest."""

    cx: Lowering
    nest: NestPlan
    extents: Mapping[int, int]
    body: Body
    lead: Lead | None

    def over(self, place: int, at: dict[int, Coord]) -> None:
        """The loops from the axis at `place` on, at a point of those before it."""
        cx, nest = self.cx, self.nest
        if place == len(nest.axes):
            _run(self.body, [at])
            return
        dim = nest.axes[place]
        if nest.across is not None and place == len(nest.axes) - 2:
            run_squares(cx, nest, self.extents, at, lambda point: _run(self.body, [point]))
        elif dim == nest.lane:
            self._over_lanes(place, [at])
        elif nest.rows > 1 and place == len(nest.axes) - 2:
            self._over_rows(place, at)
        elif dim in nest.merged or self.extents[dim] == 1:
            self.over(place + 1, {**at, dim: cx.math.const(0)})
        else:
            with cx.loop(0, cx.bound_of(dim, self.extents[dim])) as loop:
                self.over(place + 1, {**at, dim: Coord(loop.index)})

    def _over_rows(self, place: int, at: dict[int, Coord]) -> None:
        """Groups of rows, which the plan has found to be whole."""
        cx, rows, dim = self.cx, self.nest.rows, self.nest.axes[place]
        with cx.loop(0, self.extents[dim], rows) as loop:
            starts = [cx.builder.add(loop.index, row) for row in range(rows)]
            self._over_lanes(place + 1, [{**at, dim: Coord(start)} for start in starts])

    def _over_lanes(self, place: int, rows: Sequence[dict[int, Coord]]) -> None:
        """The lanes of some rows side by side; what follows, if anything does, is of one row."""
        at = rows[0]
        cx, nest, dim = self.cx, self.nest, self.nest.axes[place]
        first, *others = (*nest.merged, dim)
        bound = cx.builder.mul(cx.bound_of(first, self.extents[first]), prod(self.extents[each] for each in others))
        known = known_int(bound)

        def inner(start: SSAValue, count: int = 1) -> None:
            if count == len(rows) == 1:
                self.over(place + 1, {**at, dim: Coord(start, 1)})
                return
            starts = [Coord(cx.builder.add(start, copy * nest.width), 1) for copy in range(count)]
            _run(self.body, [{**row, dim: each} for each in starts for row in rows])

        if self.lead is not None:
            _led_lane_loop(cx, nest, bound, self.lead({**at, dim: cx.math.const(0)}), inner)
        elif known is None:
            _bounded_lane_loop(cx, nest, bound, inner)
        else:
            _lane_loop(cx, nest, known, inner)


def _run(body: Body, points: Sequence[At]) -> None:
    """The points of one body: all computed, then all written."""
    for write in [body(at) for at in points]:
        if write is not None:
            write()


class _Vectors(Protocol):
    """Runs a body at `count` neighbouring vectors from a lane on."""

    def __call__(self, start: SSAValue, count: int = 1) -> None: ...


def _whole_vectors(cx: Lowering, nest: NestPlan, first: SSAValue | int, end: SSAValue, body: _Vectors) -> None:
    """Whole vectors to an end that is known at run time only: groups of them, then one by one."""
    b = cx.builder
    if nest.copies > 1:
        group = nest.copies * nest.width
        grouped = b.sub(end, b.remsi(b.sub(end, first), group))
        with cx.loop(first, grouped, group) as loop:
            body(loop.index, nest.copies)
        first = grouped
    with cx.loop(first, end, nest.width) as loop:
        body(loop.index)


def _bounded_lane_loop(cx: Lowering, nest: NestPlan, bound: SSAValue, body: _Vectors) -> None:
    """Whole vectors up to a bound that is known at run time only, then what is left."""
    b = cx.builder
    left = b.remsi(bound, nest.width)
    whole = b.sub(bound, left)
    _whole_vectors(cx, nest, 0, whole, body)
    with b.if_(b.cmp("sgt", left, 0)), cx.lanes_active(left):
        body(whole)


def _led_lane_loop(cx: Lowering, nest: NestPlan, bound: SSAValue, lead: SSAValue, body: _Vectors) -> None:
    """A partial vector, then whole ones, then what is left. A row may end before the lead does.

    The partial ones are loops of at most one turn, so that what belongs to the row is computed before them.
    """
    b = cx.builder
    lead = b.minsi(lead, bound)
    left = b.remsi(b.sub(bound, lead), nest.width)
    whole = b.sub(bound, left)
    with cx.loop(0, lead, nest.width) as loop, cx.lanes_active(lead):
        body(loop.index)
    _whole_vectors(cx, nest, lead, whole, body)
    with cx.loop(whole, bound, nest.width) as loop, cx.lanes_active(left):
        body(loop.index)


def _lane_loop(cx: Lowering, nest: NestPlan, extent: int, body: _Vectors) -> None:
    """Groups of vectors, then the whole ones that are left, then what is left of one."""
    vectors, tail = divmod(extent, nest.width)
    groups, single = divmod(vectors, nest.copies)
    done = groups * nest.copies * nest.width
    if groups == 1:
        body(cx.builder.i64(0), nest.copies)
    elif groups:
        with cx.loop(0, done, nest.copies * nest.width) as loop:
            body(loop.index, nest.copies)
    if single:
        body(cx.builder.i64(done), single)
    if tail:
        with cx.lanes_active(tail):
            body(cx.builder.i64(extent - tail))


def copy_nest(cx: Lowering, storage: Storage) -> NestPlan:
    """The nest that fills a buffer in its own order, lanes along the innermost dimension."""
    if cx.program_lanes or not storage.dims or storage.extents[-1] == 1:
        return NestPlan("copy", storage.dims, None, 1)
    return NestPlan("copy", storage.dims, storage.dims[-1], cx.plan.copy_width(storage))


def fill_storage(cx: Lowering, storage: Storage, value: SSAValue, nest: NestPlan) -> None:
    """Compute every element of a tile into its buffer."""
    dims = space_of(value).dims

    def body(at: At) -> None:
        element = tile_value(cx, value, tuple(at[dim.number] for dim in dims))
        store_to_storage(cx, storage, storage.dims, tuple(at[dim] for dim in storage.dims), element)

    run_nest(cx, nest, extents_of(space_of(value)), body)


def store_tiles(cx: Lowering, stores: Sequence[StoreOp], nest: NestPlan) -> None:
    """Write tiles of the same axes to views, in one nest: at every point all are computed, then all are written."""
    last = stores[-1]

    def body(at: At) -> Write:
        writes = [_element(cx, op, at, streaming=nest.streaming) for op in stores]
        return lambda: _all(writes)

    def lead(at: At) -> SSAValue:
        index = access_index(cx, coord_values(cx, last.origin), _point(last, at))
        return line_offset(cx, last.view, index, nest.width * dtype_of(view_type(last.view).element).itemsize)

    run_nest(cx, nest, extents_of(space_of(last.value)), body, lead if nest.streaming else None)


def _all(writes: Sequence[Write]) -> None:
    for write in writes:
        write()


def _point(op: StoreOp, at: At) -> tuple[Coord, ...]:
    return tuple(at[dim.number] for dim in space_of(op.value).dims)


def _element(cx: Lowering, op: StoreOp, at: At, *, streaming: bool) -> Callable[[], None]:
    """One element (one a lane) of a store, computed; the call writes it."""
    point = _point(op, at)
    by_dim: dict[DimAttr, Coord] = dict(zip(space_of(op.value).dims, point, strict=True))
    mask = None if op.mask is None else operand_value(cx, op.mask, by_dim)
    index = access_index(cx, coord_values(cx, op.origin), point)
    element = tile_value(cx, op.value, point)
    guards = guards_of(cx, op, index, mask)
    return lambda: store_to_view(cx, op.view, index, guards, element, streaming=streaming)
