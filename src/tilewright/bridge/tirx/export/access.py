"""Loads and stores of views. A load is a copy into a buffer of our own: what is stored later never changes it."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tilewright.analysis.ranges import interval_of
from tilewright.bridge.tirx.export.casts import as_held, as_stored, rounded
from tilewright.bridge.tirx.export.context import Exporter, Point
from tilewright.bridge.tirx.export.elementwise import RULES
from tilewright.bridge.tirx.export.representation import is_narrow
from tilewright.bridge.tirx.nodes import Expr
from tilewright.core.dtypes import DType
from tilewright.ir.attrs import Bounds, UpdateKind
from tilewright.ir.ops import elementwise as ops
from tilewright.ir.ops.access import LoadElementOp, LoadOp, StoreElementOp, StoreOp, UpdateOp
from tilewright.ir.types import (
    AxisAttr,
    DimAttr,
    SpaceAttr,
    compact_strides,
    dtype_of,
    element_of,
    space_of,
    view_type,
)

__all__ = ["export_load", "export_load_element", "export_store", "export_store_element", "export_update", "read_view"]


def export_load(cx: Exporter, op: LoadOp) -> None:
    """A nest that copies what lies inside the view and where the mask is true; the fill elsewhere."""
    space, dtype = space_of(op.result), dtype_of(element_of(op.result))
    origins = _origins(cx, op)
    fill = None if op.fill is None else cx.element(op.fill, {})
    stored = cx.allocate(dtype, space, notes={"tile.snapshot": 1})
    with cx.nest(space, notes={"tile.independent": space.rank, "tile.snapshot": 1}) as indices:
        point = dict(zip(space.dims, indices, strict=True))
        index = [cx.n.add(start, at) for start, at in zip(origins, indices, strict=True)]
        guard = _guard(cx, op, index, point)
        cx.write(stored, point, _guarded_read(cx, op.view, index, guard, fill))
    cx.tiles[op.result] = cx.tile_of(stored)


def export_store(cx: Exporter, op: StoreOp) -> None:
    """A nest that writes what lies inside the view and where the mask is true."""
    space = space_of(op.value)
    origins = _origins(cx, op)
    with cx.nest(space, notes={"tile.independent": space.rank}) as indices:
        point = dict(zip(space.dims, indices, strict=True))
        index = [cx.n.add(start, at) for start, at in zip(origins, indices, strict=True)]
        with cx.guarded(_guard(cx, op, index, point)):
            _write_view(cx, op.view, index, cx.element(op.value, point))


def export_load_element(cx: Exporter, op: LoadElementOp) -> None:
    """One element where the predicate holds; it is read here, whatever is stored before its use."""
    index = [cx.element(value, {}) for value in op.index]
    guard = None if op.predicate is None else cx.element(op.predicate, {})
    fill = None if op.fill is None else cx.element(op.fill, {})
    cx.scalars[op.result] = cx.once(_guarded_read(cx, op.view, index, guard, fill))


def export_store_element(cx: Exporter, op: StoreElementOp) -> None:
    """One element unless the predicate is false."""
    index = [cx.element(value, {}) for value in op.index]
    with cx.guarded(None if op.predicate is None else cx.element(op.predicate, {})):
        _write_view(cx, op.view, index, cx.element(op.value, {}))


_STEPS = {UpdateKind.ADD: ops.AddOp, UpdateKind.MINIMUM: ops.MinOp, UpdateKind.MAXIMUM: ops.MaxOp}


def export_update(cx: Exporter, op: UpdateOp) -> None:
    """One plain step of the reducer a point, which is whole because the root of such a kernel runs in order."""
    space, dtype = _joint([*op.coords, op.value, *([] if op.mask is None else [op.mask])]), view_type(op.view).element
    with cx.nest(space) as indices:
        point = dict(zip(space.dims, indices, strict=True))
        index = [cx.once(cx.element(coord, point)) for coord in op.coords]
        guards = [] if op.mask is None else [cx.element(op.mask, point)]
        for at, extent in zip(index, view_type(op.view).space.extents, strict=True):
            guards += [cx.n.ge(at, cx.n.i64(0)), cx.n.lt(at, cx.n.i64(extent))]
        with cx.guarded(_all(cx, guards)):
            old = cx.once(read_view(cx, op.view, index))
            rule, element = RULES[_STEPS[op.reducer.data]], dtype_of(dtype)
            _write_view(
                cx, op.view, index, _rounded(cx, rule(cx, element, [old, cx.element(op.value, point)]), element)
            )
    cx.count("updates")


def _rounded(cx: Exporter, value: Expr, dtype: type[DType]) -> Expr:
    return rounded(cx, dtype, value) if is_narrow(dtype) else value


def _joint(operands: Sequence[SSAValue]) -> SpaceAttr:
    """All dimensions of the operands in order of first use; an extent of 1 yields to a larger one."""
    axes: dict[DimAttr, AxisAttr] = {}
    for operand in operands:
        for axis in space_of(operand).axes:
            known = axes.get(axis.dim)
            if known is None or known.extent == 1:
                axes[axis.dim] = axis
    return SpaceAttr.of(axes.values())


# ---- places and guards


def _origins(cx: Exporter, op: LoadOp | StoreOp) -> list[Expr]:
    """Where the tile begins on each axis. One of which nothing is known is first brought so near to the view that sums
    with it fit, without moving an element into the view or out of it.
    """
    n, found = cx.n, list[Expr]()
    space = space_of(op.result if isinstance(op, LoadOp) else op.value)
    for value, extent, size in zip(op.origin, space.extents, view_type(op.view).space.extents, strict=True):
        origin = cx.element(value, {})
        if interval_of(value) is None and op.bounds.data is not Bounds.ASSUME:
            origin = n.max(n.min(origin, n.i64(size)), n.i64(-extent))
        found.append(cx.once(origin))
    return found


def _guard(cx: Exporter, op: LoadOp | StoreOp, index: Sequence[Expr], point: Point) -> Expr | None:
    """Inside the view, as far as that is not proved or promised, and where the mask is true."""
    space = space_of(op.result if isinstance(op, LoadOp) else op.value)
    guards: list[Expr] = []
    sizes = view_type(op.view).space.extents
    for value, at, extent, size in zip(op.origin, index, space.extents, sizes, strict=True):
        if op.bounds.data is Bounds.ASSUME:
            continue
        known = interval_of(value)
        if known is None or known.low < 0:
            guards.append(cx.n.ge(at, cx.n.i64(0)))
        if known is None or known.high + extent > size:
            guards.append(cx.n.lt(at, cx.n.i64(size)))
    if op.mask is not None:
        guards.append(cx.element(op.mask, point))
    cx.count("guards", len(guards))
    return _all(cx, guards)


def _all(cx: Exporter, guards: Sequence[Expr]) -> Expr | None:
    found: Expr | None = None
    for guard in guards:
        found = guard if found is None else cx.n.and_(found, guard)
    return found


# ---- elements


def _guarded_read(cx: Exporter, view: SSAValue, index: Sequence[Expr], guard: Expr | None, fill: Expr | None) -> Expr:
    """One element; `fill` (zero without one) where the guard does not hold, and then memory is not touched."""
    if guard is None:
        return read_view(cx, view, index)
    dtype = dtype_of(view_type(view).element)
    raw = cx.n.load(cx.buffers[view], _place(cx, view, index))
    kind = cx.n.dtype(raw)
    zero = cx.n.float_(kind, 0.0) if kind.startswith("float") else cx.n.int_(kind, 0)
    if fill is None:
        return as_held(cx, dtype, cx.n.lazily(guard, raw, zero))
    if kind == cx.n.dtype(fill):
        return cx.n.lazily(guard, raw, fill)
    holds = cx.once(guard)
    return cx.n.select(holds, as_held(cx, dtype, cx.n.lazily(holds, raw, zero)), fill)


def read_view(cx: Exporter, view: SSAValue, index: Sequence[Expr]) -> Expr:
    """The element at an index inside the view."""
    raw = cx.n.load(cx.buffers[view], _place(cx, view, index))
    return as_held(cx, dtype_of(view_type(view).element), raw)


def _write_view(cx: Exporter, view: SSAValue, index: Sequence[Expr], value: Expr) -> None:
    dtype = dtype_of(view_type(view).element)
    cx.emit(cx.n.store(cx.buffers[view], as_stored(cx, dtype, value), _place(cx, view, index)))


def _place(cx: Exporter, view: SSAValue, index: Sequence[Expr]) -> list[Expr]:
    """Indices of the buffer: those of the view where it is compact, else the one cell that strides lead to."""
    kind = view_type(view)
    if kind.strides == compact_strides(kind.space.extents):
        return list(index) or [cx.n.i64(0)]
    return [cx.linear(index, kind.strides)]
