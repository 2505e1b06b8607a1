"""What the pure operations of XIR compute, on NumPy arrays with one entry a lane (scalars are one lane)."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
)
from xdsl.ir import Attribute, Operation

from tilewright.core import dtypes
from tilewright.core.dtypes import DType
from tilewright.numerics import cast as casts
from tilewright.numerics.arrays import Array, numpy_dtype
from tilewright.numerics.elementwise import OPS
from tilewright.numerics.fma import fma
from tilewright.xir import ops
from tilewright.xir.constants import number_of, width_of
from tilewright.xir.types import lanes_of, scalar_of

__all__ = ["VALUES", "dtype_of", "fold_pair", "storage_dtype"]

Compute = Callable[..., Array]
Unary = Callable[[Array], Array]
Binary = Callable[[Array, Array], Array]

_FLOATS: Mapping[type[Attribute], type[DType]] = MappingProxyType(
    {
        Float64Type: dtypes.f64,
        Float32Type: dtypes.f32,
        Float16Type: dtypes.f16,
        BFloat16Type: dtypes.bf16,
        Float8E4M3FNType: dtypes.float8_e4m3fn,
        Float8E5M2Type: dtypes.float8_e5m2,
    }
)
_SIGNED: Mapping[int, type[DType]] = MappingProxyType(
    {1: dtypes.boolean, 8: dtypes.i8, 16: dtypes.i16, 32: dtypes.i32, 64: dtypes.i64}
)
_UNSIGNED: Mapping[int, type[DType]] = MappingProxyType(
    {1: dtypes.boolean, 8: dtypes.u8, 16: dtypes.u16, 32: dtypes.u32, 64: dtypes.u64}
)


def dtype_of(kind: Attribute, *, unsigned: bool = False) -> type[DType]:
    """The element type of a scalar or vector type; integers count as signed unless told otherwise."""
    scalar = scalar_of(kind)
    width = width_of(scalar)
    if width is None:
        return _FLOATS[type(scalar)]
    return (_UNSIGNED if unsigned else _SIGNED)[width]


def storage_dtype(kind: Attribute) -> np.dtype[Any]:
    """The NumPy dtype of a scalar or vector type."""
    return numpy_dtype(dtype_of(kind))


def _constant(op: Operation) -> Compute:
    value, kind = op.properties["value"], op.results[0].type
    lanes, dtype = lanes_of(kind), storage_dtype(kind)
    if isinstance(value, DenseIntOrFPElementsAttr):
        dense = cast("DenseIntOrFPElementsAttr[Any]", value)
        stored = np.asarray(dense.get_values(), np.int64) if dtype == np.bool_ else None
        given = np.frombuffer(dense.data.data, dtype) if stored is None else stored != 0
        array = np.resize(given, lanes)
    else:
        array = np.full(lanes, np.asarray(number_of(value)).astype(dtype))
    array.flags.writeable = False
    return lambda: array


def _elementwise(name: str, op: Operation, *, unsigned: bool = False) -> Compute:
    """The definition that `numerics` has for the element type."""
    kind = op.operands[0].type
    dtype, storage = dtype_of(kind, unsigned=unsigned), storage_dtype(kind)
    if dtype == dtypes.boolean and name in ("add", "sub", "mul"):
        name = "and" if name == "mul" else "xor"
    apply = partial(OPS[name], dtype)
    if not unsigned:
        return apply
    return lambda *arrays: apply(*(array.view(numpy_dtype(dtype)) for array in arrays)).view(storage)


def _fma(op: Operation) -> Compute:
    return partial(fma, dtype_of(op.results[0].type))


def _copysign(_: Operation) -> Compute:
    return np.copysign


def _scale(_: Operation) -> Binary:
    def scale(value: Array, exponent: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.ldexp(value, exponent.astype(np.int32) if exponent.dtype.kind == "f" else exponent)

    return scale


def _compare_integers(op: Operation) -> Binary:
    name = ("eq", "ne", "lt", "le", "gt", "ge", "lt", "le", "gt", "ge")[cast(arith.CmpiOp, op).predicate.value.data]
    unsigned = cast(arith.CmpiOp, op).predicate.value.data >= 6
    dtype = numpy_dtype(dtype_of(op.operands[0].type, unsigned=unsigned))
    compare = partial(OPS[name], dtype_of(op.operands[0].type, unsigned=unsigned))
    return lambda a, b: compare(a.view(dtype), b.view(dtype))


def _compare_floats(op: Operation) -> Binary:
    """Predicates 0..7 are false where an operand is NaN, 8..15 are true there; three bits say <, >, =."""
    predicate, dtype = cast(arith.CmpfOp, op).predicate.value.data, dtype_of(op.operands[0].type)
    relation = (0, 1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6, 0, 7)[predicate]

    def compare(a: Array, b: Array) -> Array:
        result = np.full(a.shape, fill_value=False)
        for bit, name in ((1, "eq"), (2, "gt"), (4, "lt")):
            if relation & bit:
                result |= OPS[name](dtype, a, b)
        if predicate & 8:
            result |= OPS["isnan"](dtype, a) | OPS["isnan"](dtype, b)
        return result

    return compare


def _select(op: Operation) -> Compute:
    return partial(OPS["select"], dtype_of(op.results[0].type))


def _cast(op: Operation) -> Unary:
    unsigned_source = isinstance(op, arith.ExtUIOp | arith.UIToFPOp)
    source = dtype_of(op.operands[0].type, unsigned=unsigned_source)
    target = dtype_of(op.results[0].type, unsigned=isinstance(op, arith.FPToUIOp))
    given, stored = numpy_dtype(source), storage_dtype(op.results[0].type)
    if isinstance(op, arith.ExtSIOp) and source == dtypes.boolean:
        return lambda array: -array.astype(stored)
    if isinstance(op, arith.TruncIOp) and target == dtypes.boolean:
        return lambda array: (array & 1) != 0
    return lambda array: casts.cast(array.view(given), source, target).view(stored)


def _bitcast(op: Operation) -> Unary:
    stored = storage_dtype(op.results[0].type)
    return lambda array: array.view(stored)


def _broadcast(op: Operation) -> Unary:
    lanes = lanes_of(op.results[0].type)
    return lambda array: np.repeat(array, lanes)


def _extract(op: Operation) -> Unary:
    lane = cast(vector.ExtractOp, op).static_position.get_values()[0]
    return lambda array: array[lane : lane + 1]


def _insert(op: Operation) -> Binary:
    lane = cast(vector.InsertOp, op).static_position.get_values()[0]

    def insert(scalar: Array, into: Array) -> Array:
        result = into.copy()
        result[lane] = scalar[0]
        return result

    return insert


def _shuffle(op: Operation) -> Binary:
    order = np.asarray(cast(vector.ShuffleOp, op).mask.get_values())
    return lambda a, b: np.concatenate([a, b])[order]


def _lanes(op: Operation) -> Compute:
    numbers = np.arange(lanes_of(op.results[0].type))
    return lambda: numbers


def _first_lanes(op: Operation) -> Unary:
    numbers = np.arange(lanes_of(op.results[0].type))
    return lambda count: numbers < count


def fold_pair(kind: str, element: Attribute) -> Binary:
    """One step of a fold or an atomic: `kind` is one of FOLD_KINDS."""
    unsigned, name = kind.endswith("ui"), _FOLDS[kind]
    dtype, stored = dtype_of(element, unsigned=unsigned), storage_dtype(element)
    wanted = numpy_dtype(dtype)
    return lambda a, b: OPS[name](dtype, a.view(wanted), b.view(wanted)).view(stored)


_FOLDS: Mapping[str, str] = MappingProxyType(
    {
        "addf": "add",
        "mulf": "mul",
        "maximumf": "max",
        "minimumf": "min",
        "addi": "add",
        "muli": "mul",
        "maxsi": "max",
        "minsi": "min",
        "maxui": "max",
        "minui": "min",
        "andi": "and",
        "ori": "or",
        "xori": "xor",
    }
)


def _fold_lanes(op: Operation) -> Unary:
    pair = fold_pair(cast(ops.FoldLanesOp, op).kind.data, op.results[0].type)

    def fold(array: Array) -> Array:
        while len(array) > 1:
            half = len(array) // 2
            array = pair(array[:half], array[half:])
        return array

    return fold


_NAMES: Mapping[type[Operation], str] = MappingProxyType(
    {
        arith.AddiOp: "add",
        arith.SubiOp: "sub",
        arith.MuliOp: "mul",
        arith.DivSIOp: "trunc_div",
        arith.RemSIOp: "trunc_mod",
        arith.MinSIOp: "min",
        arith.MaxSIOp: "max",
        arith.AndIOp: "and",
        arith.OrIOp: "or",
        arith.XOrIOp: "xor",
        arith.ShLIOp: "shl",
        arith.ShRSIOp: "shr",
        arith.AddfOp: "add",
        arith.SubfOp: "sub",
        arith.MulfOp: "mul",
        arith.DivfOp: "div",
        arith.MaximumfOp: "max",
        arith.MinimumfOp: "min",
        arith.NegfOp: "neg",
        math.AbsFOp: "abs",
        math.SqrtOp: "sqrt",
        math.FloorOp: "floor",
        math.CeilOp: "ceil",
        math.TruncOp: "trunc",
        math.RoundEvenOp: "round",
    }
)
_UNSIGNED_NAMES: Mapping[type[Operation], str] = MappingProxyType(
    {
        arith.DivUIOp: "trunc_div",
        arith.RemUIOp: "trunc_mod",
        arith.MinUIOp: "min",
        arith.MaxUIOp: "max",
        arith.ShRUIOp: "shr",
    }
)

VALUES: Mapping[type[Operation], Callable[[Operation], Compute]] = MappingProxyType(
    {
        **{kind: partial(_elementwise, name) for kind, name in _NAMES.items()},
        **{kind: partial(_elementwise, name, unsigned=True) for kind, name in _UNSIGNED_NAMES.items()},
        **dict.fromkeys((arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.SIToFPOp, arith.UIToFPOp), _cast),
        **dict.fromkeys((arith.FPToSIOp, arith.FPToUIOp, arith.ExtFOp, arith.TruncFOp), _cast),
        arith.BitcastOp: _bitcast,
        arith.ConstantOp: _constant,
        arith.CmpiOp: _compare_integers,
        arith.CmpfOp: _compare_floats,
        arith.SelectOp: _select,
        math.FmaOp: _fma,
        math.CopySignOp: _copysign,
        vector.BroadcastOp: _broadcast,
        vector.ExtractOp: _extract,
        vector.InsertOp: _insert,
        vector.ShuffleOp: _shuffle,
        ops.ScaleOp: _scale,
        ops.LanesOp: _lanes,
        ops.FirstLanesOp: _first_lanes,
        ops.FoldLanesOp: _fold_lanes,
    }
)
"""For each pure operation, what makes its function of the operands' arrays."""
