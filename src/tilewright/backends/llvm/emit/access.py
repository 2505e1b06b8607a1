"""Rules of loads, stores and atomics, one for each pattern of the schedule."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.vector import BroadcastOp
from xdsl.ir import Operation, SSAValue

from tilewright.backends.llvm.emit.arithmetic import PAIRS
from tilewright.backends.llvm.emit.casts import narrowed_from_float, widened_to_float
from tilewright.backends.llvm.emit.emitter import Emitter, Rules, type_of
from tilewright.backends.llvm.emit.represent import is_storage_float, represented
from tilewright.backends.llvm.emit.schedule import Access, Mask, Pattern
from tilewright.backends.llvm.memory import NONTEMPORAL
from tilewright.backends.llvm.types import I1, I64, Type, vector
from tilewright.backends.llvm.values import Value, constant, integers, zero
from tilewright.numerics.arrays import Array
from tilewright.xir import address_ops, ops
from tilewright.xir.types import buffer_type
from tilewright.xir.values import VALUES

__all__ = ["ACCESS"]

_FOLDABLE = (
    arith.ConstantOp,
    arith.CmpiOp,
    arith.AndIOp,
    arith.OrIOp,
    arith.XOrIOp,
    arith.AddiOp,
    arith.SubiOp,
    arith.MuliOp,
    arith.SelectOp,
    BroadcastOp,
    ops.LanesOp,
    ops.FirstLanesOp,
)


def _element(buffer: SSAValue) -> Type:
    return represented(buffer_type(buffer).element)


# ---- loads


def _load(cx: Emitter, op: Operation) -> None:
    load = cast(ops.LoadOp, op)
    where = cx.f.address(cx.value(load.buffer), cx.value(load.index), _element(load.buffer))
    scheduled = cx.schedule.accesses[op]
    kind = type_of(load.result)
    otherwise = zero(kind) if load.passthru is None else cx.value(load.passthru)
    cx.define(load.result, _read(cx, scheduled, kind, where, load.mask, otherwise))


def _read(cx: Emitter, access: Access, kind: Type, where: Value, mask: SSAValue | None, otherwise: Value) -> Value:
    if mask is None or access.mask is Mask.ALL:
        return cx.f.load(kind, where)
    if access.pattern is Pattern.SCALAR:
        return _guarded_read(cx, kind, where, cx.value(mask), otherwise)
    return cx.f.masked_load(kind, where, cx.value(mask), otherwise)


def _guarded_read(cx: Emitter, kind: Type, where: Value, mask: Value, otherwise: Value) -> Value:
    """Without a branch: a masked-off access goes to a spare slot."""
    loaded = cx.f.load(kind, cx.f.select(mask, where, cx.spare(kind)))
    return cx.f.select(mask, loaded, otherwise)


def _gather(cx: Emitter, op: Operation) -> None:
    gather = cast(ops.GatherOp, op)
    kind, scheduled = type_of(gather.result), cx.schedule.accesses[op]
    otherwise = zero(kind) if gather.passthru is None else cx.value(gather.passthru)
    if scheduled.pattern in (Pattern.SCALAR, Pattern.CONSECUTIVE):
        where = _base(cx, gather.buffer, gather.indices, scheduled)
        result = _read(cx, scheduled, kind, where, gather.mask, otherwise)
    elif scheduled.pattern is Pattern.UNIFORM and scheduled.mask is Mask.ALL:
        where = _base(cx, gather.buffer, gather.indices, scheduled)
        result = cx.f.splat(cx.f.load(kind.element, where), kind.lanes)
    else:
        pointers = _pointers(cx, gather.buffer, gather.indices, scheduled)
        result = cx.f.gather(kind, pointers, _mask(cx, gather.mask, kind), otherwise)
    cx.define(gather.result, result)


# ---- stores


def _store(cx: Emitter, op: Operation) -> None:
    store = cast(ops.StoreOp, op)
    where = cx.f.address(cx.value(store.buffer), cx.value(store.index), _element(store.buffer))
    _write(cx, cx.schedule.accesses[op], cx.value(store.value), where, store.mask)


def _write(cx: Emitter, access: Access, value: Value, where: Value, mask: SSAValue | None) -> None:
    if mask is None or access.mask is Mask.ALL:
        if access.streaming and value.type.is_vector:
            _stream(cx, value, where)
        else:
            cx.f.store(value, where)
    elif access.pattern is Pattern.SCALAR:
        cx.f.store(value, cx.f.select(cx.value(mask), where, cx.spare(value.type)))
    elif (lane := _only_lane(mask)) is not None:
        cx.f.store(cx.f.lane(value, lane), cx.f.address(where, constant(I64, lane), value.type.element))
    else:
        cx.f.masked_store(value, where, cx.value(mask))


def _only_lane(mask: SSAValue) -> int | None:
    """The one lane of a constant mask. LLVM 22 for AVX-512 makes of such a masked store of narrowed lanes one store of
    the wide lane, which writes what follows in memory too; so it never sees one, nor what it would fold to one.
    """
    lanes = _folded(mask, {})
    active = [] if lanes is None else [lane for lane, bit in enumerate(lanes) if bit]
    return active[0] if len(active) == 1 else None


def _folded(value: SSAValue, known: dict[SSAValue, Array | None]) -> Array | None:
    """The lanes of what is computed from constants alone."""
    if value not in known:
        op = value.owner
        operands = [_folded(operand, known) for operand in op.operands] if isinstance(op, _FOLDABLE) else [None]
        lanes = [each for each in operands if each is not None]
        known[value] = (
            VALUES[type(op)](op)(*lanes) if isinstance(op, _FOLDABLE) and len(lanes) == len(operands) else None
        )
    return known[value]


def _stream(cx: Emitter, value: Value, where: Value) -> None:
    """Past the caches where the address allows it: such stores exist for whole aligned vectors only."""
    f, size = cx.f, value.type.size_bytes
    past = f.and_(f.ptrtoint(where, I64), constant(I64, size - 1))
    aligned, other, after = f.block("aligned"), f.block("unaligned"), f.block("stored")
    f.branch_if(f.icmp("eq", past, constant(I64, 0)), aligned, other)
    f.place(aligned)
    f.store(value, where, size, NONTEMPORAL)
    f.branch(after)
    f.place(other)
    f.store(value, where)
    f.branch(after)
    f.place(after)


def _line_offset(cx: Emitter, op: Operation) -> None:
    offset = cast(address_ops.LineOffsetOp, op)
    f, element = cx.f, _element(offset.buffer)
    where = f.address(cx.value(offset.buffer), cx.value(offset.index), element)
    short = f.and_(f.sub(constant(I64, 0), f.ptrtoint(where, I64)), constant(I64, offset.bytes.data - 1))
    cx.define(offset.result, f.lshr(short, constant(I64, element.size_bytes.bit_length() - 1)))


def _prefetch(cx: Emitter, op: Operation) -> None:
    ahead = cast(address_ops.PrefetchOp, op)
    cx.f.prefetch(cx.f.address(cx.value(ahead.buffer), cx.value(ahead.index), _element(ahead.buffer)))


def _scatter(cx: Emitter, op: Operation) -> None:
    scatter = cast(ops.ScatterOp, op)
    scheduled, value = cx.schedule.accesses[op], cx.value(scatter.value)
    if scheduled.pattern in (Pattern.SCALAR, Pattern.CONSECUTIVE):
        _write(cx, scheduled, value, _base(cx, scatter.buffer, scatter.indices, scheduled), scatter.mask)
        return
    pointers = _pointers(cx, scatter.buffer, scatter.indices, scheduled)
    cx.f.scatter(value, pointers, _mask(cx, scatter.mask, value.type))


# ---- addresses


def _base(cx: Emitter, buffer: SSAValue, indices: SSAValue, access: Access) -> Value:
    """The address of lane 0, from scalars alone."""
    f, form = cx.f, access.form
    if form is None:
        return f.address(cx.value(buffer), cx.value(indices), _element(buffer))
    index: Value = constant(I64, form.offsets[0])
    for term, factor in form.terms:
        scaled = cx.value(term) if factor == 1 else f.mul(cx.value(term), constant(I64, factor))
        index = f.add(index, scaled)
    return f.address(cx.value(buffer), index, _element(buffer))


def _pointers(cx: Emitter, buffer: SSAValue, indices: SSAValue, access: Access) -> Value:
    """An address a lane; with a shared base LLVM needs no 64-bit index vector."""
    element = _element(buffer)
    if access.form is None:
        return cx.f.address(cx.value(buffer), cx.value(indices), element)
    offsets = access.form.offsets
    distances = integers(I64, [offset - offsets[0] for offset in offsets])
    return cx.f.address(_base(cx, buffer, indices, access), distances, element)


def _mask(cx: Emitter, mask: SSAValue | None, kind: Type) -> Value:
    return constant(vector(I1, kind.lanes), 1) if mask is None else cx.value(mask)


# ---- atomics

_ATOMICS: Mapping[str, str] = MappingProxyType(
    {
        "addf": "fadd",
        "maximumf": "fmaximum",
        "minimumf": "fminimum",
        "addi": "add",
        "maxsi": "max",
        "minsi": "min",
        "maxui": "umax",
        "minui": "umin",
    }
)


def _atomic(cx: Emitter, op: Operation) -> None:
    atomic = cast(ops.AtomicOp, op)
    where = cx.f.address(cx.value(atomic.buffer), cx.value(atomic.index), _element(atomic.buffer))
    value, kind = cx.value(atomic.value), atomic.kind.data
    if is_storage_float(atomic.value.type):
        _exchange(cx, where, value.type, lambda old: _storage_step(cx, atomic, old, value))
    else:
        cx.f.atomicrmw(_ATOMICS[kind], where, value, "monotonic")


def _storage_step(cx: Emitter, atomic: ops.AtomicOp, old: Value, value: Value) -> Value:
    kind = atomic.value.type
    a, b = (widened_to_float(cx.f, each, kind) for each in (old, value))
    return narrowed_from_float(cx.f, PAIRS[atomic.kind.data](cx.f, a, b), kind)


def _exchange(cx: Emitter, where: Value, kind: Type, step: Callable[[Value], Value]) -> None:
    """Compare and exchange until nobody came between."""
    f = cx.f
    first = f.load_atomic(kind, where, "monotonic")
    before, again, after = f.current, f.block("again"), f.block("exchanged")
    f.branch(again)
    f.place(again)
    old = f.phi(kind)
    found, done = f.cmpxchg(where, old, step(old), "monotonic", "monotonic")
    f.branch_if(done, after, again)
    old.add(first, before)
    old.add(found, f.current)
    f.place(after)


ACCESS: Rules = MappingProxyType(
    {
        ops.LoadOp: _load,
        ops.GatherOp: _gather,
        ops.StoreOp: _store,
        address_ops.LineOffsetOp: _line_offset,
        address_ops.PrefetchOp: _prefetch,
        ops.ScatterOp: _scatter,
        ops.AtomicOp: _atomic,
    }
)
