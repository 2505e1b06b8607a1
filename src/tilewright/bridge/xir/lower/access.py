"""Memory: addresses, guards, and the access that lanes ask for. One function for addresses, one for guards."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from tilewright.analysis.access import guarded_axes, negative_axes
from tilewright.bridge.xir.lower.context import Lowering, Val, register_type, storage_type
from tilewright.bridge.xir.lower.convert import held
from tilewright.bridge.xir.lower.coords import Coord
from tilewright.bridge.xir.lower.layouts import layout_address
from tilewright.bridge.xir.records import Storage
from tilewright.core.dtypes import DType, by_name
from tilewright.ir.ops.access import LoadOp, StoreOp, UpdateOp
from tilewright.ir.types import dtype_of, space_of, view_type
from tilewright.xir.types import lanes_of, scalar_of

__all__ = [
    "Guards",
    "access_index",
    "guards_of",
    "load_from_place",
    "load_from_storage",
    "load_from_view",
    "load_number",
    "predicate_guards",
    "store_to_storage",
    "store_to_view",
    "update_view",
]


@dataclass(frozen=True)
class Guards:
    """What must hold for an access: scalar conditions, an upper limit on lanes, and lane masks. All must hold."""

    conditions: tuple[SSAValue, ...] = ()
    limits: tuple[SSAValue, ...] = ()
    masks: tuple[SSAValue, ...] = ()

    @property
    def empty(self) -> bool:
        return not (self.conditions or self.limits or self.masks)


def guards_of(cx: Lowering, op: LoadOp | StoreOp, index: Sequence[Coord], mask: Val | None) -> Guards:
    """The bounds that are not proved, and the user's mask."""
    guards = predicate_guards(mask)
    extents = view_type(op.view).space.extents
    negative = negative_axes(op)
    for axis in guarded_axes(op, cx.limits, cx.forms):
        guards = _below(cx, guards, index[axis], extents[axis])
        if axis in negative:
            guards = _not_negative(cx, guards, index[axis])
    return guards


def predicate_guards(mask: Val | None) -> Guards:
    """A boolean as a guard."""
    if mask is None:
        return Guards()
    value = mask.base if isinstance(mask, Coord) else mask
    return Guards(masks=(value,)) if lanes_of(value.type) > 1 else Guards(conditions=(value,))


def _below(cx: Lowering, guards: Guards, index: Coord, extent: int) -> Guards:
    if index.is_uniform:
        condition = cx.builder.cmp("slt", index.base, extent)
        return Guards((*guards.conditions, condition), guards.limits, guards.masks)
    if index.step == 1:
        limit = cx.builder.sub(extent, index.base)
        return Guards(guards.conditions, (*guards.limits, limit), guards.masks)
    mask = cx.builder.cmp("slt", cx.math.vector(index), extent)
    return Guards(guards.conditions, guards.limits, (*guards.masks, mask))


def _not_negative(cx: Lowering, guards: Guards, index: Coord) -> Guards:
    if index.is_uniform:
        condition = cx.builder.cmp("sge", index.base, 0)
        return Guards((*guards.conditions, condition), guards.limits, guards.masks)
    mask = cx.builder.cmp("sge", cx.math.vector(index), 0)
    return Guards(guards.conditions, guards.limits, (*guards.masks, mask))


def _condition(cx: Lowering, guards: Guards) -> SSAValue | None:
    found: SSAValue | None = None
    for condition in guards.conditions:
        found = condition if found is None else cx.builder.and_(found, condition)
    return found


def _mask(cx: Lowering, guards: Guards) -> SSAValue | None:
    """All guards as one lane mask, the lanes that do not exist switched off; None when nothing is off."""
    limits = list(guards.limits)
    if cx.active is not None:
        limits.append(cx.builder.index(cx.active))
    condition = _condition(cx, guards)
    if condition is not None:
        limits.append(cx.builder.select(condition, cx.builder.i64(cx.width), cx.builder.i64(0)))
    mask: SSAValue | None = None
    if limits:
        limit = limits[0]
        for other in limits[1:]:
            limit = cx.builder.minsi(limit, other)
        mask = cx.builder.first_lanes(limit, cx.width)
    for other in guards.masks:
        mask = other if mask is None else cx.builder.and_(mask, other)
    return mask


def access_index(cx: Lowering, origin: Sequence[Coord], point: Sequence[Coord]) -> tuple[Coord, ...]:
    """The index of one element of a tile access on each view axis: origin plus coordinate."""
    return tuple(cx.math.add(start, at) for start, at in zip(origin, point, strict=True))


def _address(cx: Lowering, index: Sequence[Coord], strides: Sequence[int]) -> Coord:
    address = cx.math.const(0)
    for at, stride in zip(index, strides, strict=True):
        address = cx.math.add(address, cx.math.scale(at, stride))
    return address


def load_from_view(cx: Lowering, view: SSAValue, index: Sequence[Coord], guards: Guards, fill: SSAValue | None) -> Val:
    """One element a lane; `fill` (zero without one) where a guard does not hold."""
    dtype = dtype_of(view_type(view).element)
    address = _address(cx, index, view_type(view).strides)
    return _load(cx, cx.buffers[view], address, dtype, guards, fill)


def load_number(cx: Lowering, argument: SSAValue) -> Val:
    """A scalar argument of the kernel."""
    return _load(cx, cx.buffers[argument], cx.math.const(0), dtype_of(argument.type), Guards(), None)


def load_from_storage(cx: Lowering, storage: Storage, value: SSAValue, point: Sequence[Coord]) -> Val:
    """One element a lane of a buffered tile. Under program lanes every element is a row of lanes."""
    return load_from_place(cx, storage, [dim.number for dim in space_of(value).dims], point)


def load_from_place(cx: Lowering, storage: Storage, dims: Sequence[int], point: Sequence[Coord]) -> Val:
    """One element a lane of a buffer, at coordinates of the named dimensions."""
    address = _place(cx, storage, dims, point)
    return _load(cx, cx.scratch[storage.owner], _lane_address(cx, address), by_name(storage.dtype), Guards(), None)


def _place(cx: Lowering, storage: Storage, dims: Sequence[int], point: Sequence[Coord]) -> Coord:
    """The cell of a buffer at coordinates of the named dimensions."""
    if storage.layout is not None:
        return layout_address(cx.math, storage.layout, dict(zip(dims, point, strict=True)))
    return _address(cx, point, [storage.stride_of(dim) or 0 for dim in dims])


def _lane_address(cx: Lowering, address: Coord) -> Coord:
    if not cx.program_lanes:
        return address
    return cx.math.add(cx.math.scale(address, cx.width), Coord(cx.builder.i64(0), 1))


def _load(
    cx: Lowering, buffer: SSAValue, address: Coord, dtype: type[DType], guards: Guards, fill: SSAValue | None
) -> Val:
    if address.is_uniform and not guards.limits and not guards.masks:
        return _wrap(_load_scalar(cx, buffer, address, dtype, _condition(cx, guards), fill), dtype)
    mask = _mask(cx, guards)
    passthru = None if fill is None or mask is None else _stored(cx, cx.vectorised(fill, cx.width), dtype)
    if address.step == 1 and not address.is_vector:
        raw = cx.builder.load(buffer, address.base, cx.width, mask=mask, passthru=passthru)
    else:
        raw = cx.builder.gather(buffer, cx.math.vector(address), mask=mask, passthru=passthru)
    return _wrap(_held(cx, raw, dtype), dtype)


def _load_scalar(
    cx: Lowering,
    buffer: SSAValue,
    address: Coord,
    dtype: type[DType],
    condition: SSAValue | None,
    fill: SSAValue | None,
) -> SSAValue:
    if condition is None:
        return _held(cx, cx.builder.load(buffer, address.base), dtype)
    kind = register_type(dtype)
    otherwise = cx.builder.const(kind, 0) if fill is None else fill
    with cx.builder.if_(condition, [kind]) as branch:
        branch.yield_([_held(cx, cx.builder.load(buffer, address.base), dtype)])
        with branch.orelse() as arm:
            arm.yield_([otherwise])
    return branch.results[0]


def _wrap(value: SSAValue, dtype: type[DType]) -> Val:
    return Coord(value) if dtype.name == "i64" else value


def store_to_view(
    cx: Lowering, view: SSAValue, index: Sequence[Coord], guards: Guards, value: Val, *, streaming: bool = False
) -> None:
    """Writes one element a lane where the guards hold; past the caches when `streaming`."""
    dtype = dtype_of(view_type(view).element)
    address = _address(cx, index, view_type(view).strides)
    _store(cx, cx.buffers[view], address, dtype, guards, cx.ssa(value), streaming=streaming)


def line_offset(cx: Lowering, view: SSAValue, index: Sequence[Coord], size: int) -> SSAValue:
    """How many elements from `index` on lie before the next multiple of `size` bytes."""
    return cx.builder.line_offset(cx.buffers[view], cx.math.value(_address(cx, index, view_type(view).strides)), size)


def store_to_storage(cx: Lowering, storage: Storage, dims: Sequence[int], point: Sequence[Coord], value: Val) -> None:
    """Writes one element a lane of a buffered tile."""
    address = _lane_address(cx, _place(cx, storage, dims, point))
    _store(cx, cx.scratch[storage.owner], address, by_name(storage.dtype), Guards(), cx.ssa(value))


def _store(
    cx: Lowering,
    buffer: SSAValue,
    address: Coord,
    dtype: type[DType],
    guards: Guards,
    value: SSAValue,
    *,
    streaming: bool = False,
) -> None:
    plain = not guards.limits and not guards.masks and lanes_of(value.type) == 1
    if address.is_uniform and plain and (cx.active is None or not cx.program_lanes):
        _store_scalar(cx, buffer, address, _condition(cx, guards), _stored(cx, value, dtype))
        return
    wide = _stored(cx, cx.vectorised(value, cx.width), dtype)
    mask = _mask(cx, guards)
    if address.step == 1 and not address.is_vector:
        cx.builder.store(wide, buffer, address.base, mask=mask, streaming=streaming)
    else:
        cx.builder.scatter(wide, buffer, cx.math.vector(address), mask=mask)


def _store_scalar(cx: Lowering, buffer: SSAValue, address: Coord, condition: SSAValue | None, value: SSAValue) -> None:
    if condition is None:
        cx.builder.store(value, buffer, address.base)
        return
    with cx.builder.if_(condition):
        cx.builder.store(value, buffer, address.base)


def _held(cx: Lowering, raw: SSAValue, dtype: type[DType]) -> SSAValue:
    """From memory to registers: half types widen exactly, bytes become booleans."""
    if dtype.kind == "bool":
        return cx.builder.cmp("ne", raw, cx.builder.const(raw.type, 0))
    return held(cx.builder, raw, dtype) if register_type(dtype) != scalar_of(raw.type) else raw


def _stored(cx: Lowering, value: SSAValue, dtype: type[DType]) -> SSAValue:
    """From registers to memory; half types narrow exactly, since what is held is representable."""
    if dtype.kind == "bool":
        return cx.builder.extui(value, IntegerType(8))
    wanted = storage_type(dtype)
    if wanted == scalar_of(value.type):
        return value
    source = value.owner
    if isinstance(source, arith.ExtFOp) and scalar_of(source.input.type) == wanted:
        return source.input  # widening and narrowing again is no change, but may change which NaN it is
    return (cx.builder.bitcast if isinstance(scalar_of(value.type), IntegerType) else cx.builder.truncf)(value, wanted)


_ATOMIC = {
    ("float", "add"): "addf",
    ("float", "maximum"): "maximumf",
    ("float", "minimum"): "minimumf",
    ("int", "maximum"): "maxsi",
    ("int", "minimum"): "minsi",
    ("uint", "maximum"): "maxui",
    ("uint", "minimum"): "minui",
}


def update_view(cx: Lowering, op: UpdateOp, index: Sequence[Coord], mask: Val | None, value: Val) -> None:
    """One atomic step a lane, in lane order."""
    dtype = dtype_of(view_type(op.view).element)
    guards = predicate_guards(mask)
    for at, extent in zip(index, view_type(op.view).space.extents, strict=True):
        guards = _not_negative(cx, _below(cx, guards, at, extent), at)
    kind = _ATOMIC.get((dtype.kind, op.reducer.data.value), "addi")
    address = _address(cx, index, view_type(op.view).strides)
    buffer = cx.buffers[op.view]
    if cx.width == 1 or not cx.program_lanes:
        _atomic(cx, kind, buffer, address.base, _condition(cx, guards), _stored(cx, cx.ssa(value), dtype))
        return
    lanes = _mask(cx, guards)
    addresses = cx.math.vector(address)
    values = _stored(cx, cx.vectorised(cx.ssa(value), cx.width), dtype)
    for lane in range(cx.width):
        condition = None if lanes is None else cx.builder.extract(lanes, lane)
        at_lane = cx.builder.extract(addresses, lane)
        _atomic(cx, kind, buffer, at_lane, condition, cx.builder.extract(values, lane))


def _atomic(
    cx: Lowering, kind: str, buffer: SSAValue, index: SSAValue, condition: SSAValue | None, value: SSAValue
) -> None:
    if condition is None:
        cx.builder.atomic(kind, buffer, index, value)
        return
    with cx.builder.if_(condition):
        cx.builder.atomic(kind, buffer, index, value)
