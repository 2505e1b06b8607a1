"""Casts: value-preserving where possible, rounded once, never twice."""

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from tilewright.bridge.xir.lower.context import Lowering, Val, register_type, storage_type
from tilewright.bridge.xir.lower.coords import Coord
from tilewright.core.codes.unsupported import OP_NOT_ON_ROUTE
from tilewright.core.dtypes import DType
from tilewright.core.errors import UnsupportedError
from tilewright.ir.location import span_of
from tilewright.ir.ops import convert
from tilewright.ir.types import dtype_of, element_of
from tilewright.xir.builder import XirBuilder
from tilewright.xir.types import scalar_of

__all__ = ["apply"]


def apply(cx: Lowering, op: convert.CastOp | convert.BitcastOp, operand: Val) -> Val:
    """The converted value."""
    source, target = dtype_of(element_of(op.operand)), dtype_of(element_of(op.result))
    value = cx.ssa(operand)
    if isinstance(op, convert.BitcastOp):
        result = _bitcast(cx.builder, value, source, target)
    else:
        if _rounds_twice(source, target):
            what = f"a cast from {source.name} to {target.name}"
            raise UnsupportedError(OP_NOT_ON_ROUTE.at(span_of(op), op=what, route="xir"))
        result = _cast(cx.builder, value, source, target)
    return Coord(result) if target.name == "i64" else result


def _rounds_twice(source: type[DType], target: type[DType]) -> bool:
    """Wide types to half types: through f32 the value would be rounded twice."""
    return target.name in ("f16", "bf16") and (
        source.name == "f64" or (source.kind in ("int", "uint") and source.bits > 16)
    )


def _cast(b: XirBuilder, value: SSAValue, source: type[DType], target: type[DType]) -> SSAValue:
    if source.name == target.name:
        return value
    if target.kind == "bool":
        return _to_bool(b, value, source)
    if target.kind == "float":
        return _to_float(b, value, source, target)
    if source.kind == "float":
        wanted = register_type(target)
        return b.fptosi(value, wanted) if target.kind == "int" else b.fptoui(value, wanted)
    return _to_integer(b, value, source, target)


def _to_bool(b: XirBuilder, value: SSAValue, source: type[DType]) -> SSAValue:
    zero = b.const(value.type, 0)
    return b.fcmp("une", value, zero) if source.kind == "float" else b.cmp("ne", value, zero)


def _to_float(b: XirBuilder, value: SSAValue, source: type[DType], target: type[DType]) -> SSAValue:
    wide = register_type(target)
    if source.kind == "float":
        converted = _between_floats(b, value, source, target)
    else:
        converted = b.sitofp(value, wide) if source.kind == "int" else b.uitofp(value, wide)
    if target.name in ("f16", "bf16"):
        return b.extf(b.truncf(converted, storage_type(target)), wide)
    return converted


def _between_floats(b: XirBuilder, value: SSAValue, source: type[DType], target: type[DType]) -> SSAValue:
    have, want = scalar_of(value.type), register_type(target)
    if have == want:
        return value
    return b.extf(value, want) if target.bits > source.bits else b.truncf(value, want)


def _to_integer(b: XirBuilder, value: SSAValue, source: type[DType], target: type[DType]) -> SSAValue:
    wanted = register_type(target)
    if target.bits < source.bits:
        return b.trunci(value, wanted)
    if target.bits == source.bits:
        return value
    return b.extsi(value, wanted) if source.kind == "int" else b.extui(value, wanted)


def _bitcast(b: XirBuilder, value: SSAValue, source: type[DType], target: type[DType]) -> SSAValue:
    """Half types are held as f32, so their bits are those of the narrowed value."""
    raw = b.truncf(value, storage_type(source)) if source.name in ("f16", "bf16") else value
    if isinstance(scalar_of(raw.type), IntegerType) and isinstance(storage_type(target), IntegerType):
        return raw
    cast = b.bitcast(raw, storage_type(target))
    return b.extf(cast, register_type(target)) if target.name in ("f16", "bf16") else cast
