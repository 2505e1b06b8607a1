"""How every elementwise operation is written in the language, and arguments on which it may go wrong."""

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from tilewright import tile
from tilewright.core.dtypes import DType, bf16, boolean, f16, f32, i32, u8
from tilewright.ir.dialect import ELEMENTWISE_OPS
from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.elementwise import BinaryOp, CompareOp, PredicateOp, UnaryOp
from tilewright.numerics.arrays import Array, numpy_dtype
from tilewright.tile import ConstView1, Tile, View1, axis, coord, parallel, shape, tensor_shape

__all__ = ["COUNT", "DTYPES", "SPELLINGS", "ULPS", "arguments", "captured", "gives", "takes"]

COUNT = 83  # ragged for every number of lanes
_python: Any = operator  # its stubs type half of the operators only
DTYPES = (f32, bf16, i32, u8, boolean)


def smaller(x: Tile, y: Tile) -> Tile:
    return tile.where(x < y, x, y)


def halved(x: Tile) -> Tile:
    return tile.cast(tile.f16, x)


def as_bits(x: Tile) -> Tile:
    return tile.bitcast(tile.i32, x)


# By opcode. A cast and a bitcast have a battery of their own, for all pairs of types.
SPELLINGS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "neg": _python.neg,
        "abs": tile.abs,
        "not": _python.invert,
        "logical_not": tile.logical_not,
        "exp": tile.exp,
        "exp2": tile.exp2,
        "log": tile.log,
        "log2": tile.log2,
        "sqrt": tile.sqrt,
        "rsqrt": tile.rsqrt,
        "sin": tile.sin,
        "cos": tile.cos,
        "tanh": tile.tanh,
        "erf": tile.erf,
        "sigmoid": tile.sigmoid,
        "floor": tile.floor,
        "ceil": tile.ceil,
        "round": tile.round,
        "trunc": tile.trunc,
        "add": _python.add,
        "sub": _python.sub,
        "mul": _python.mul,
        "div": _python.truediv,
        "floor_div": _python.floordiv,
        "floor_mod": _python.mod,
        "trunc_div": tile.trunc_div,
        "trunc_mod": tile.trunc_mod,
        "min": tile.minimum,
        "max": tile.maximum,
        "pow": _python.pow,
        "and": _python.and_,
        "or": _python.or_,
        "xor": _python.xor,
        "shl": _python.lshift,
        "shr": _python.rshift,
        "logical_and": tile.logical_and,
        "logical_or": tile.logical_or,
        "eq": _python.eq,
        "ne": _python.ne,
        "lt": _python.lt,
        "le": _python.le,
        "gt": _python.gt,
        "ge": _python.ge,
        "isnan": tile.isnan,
        "isinf": tile.isinf,
        "select": smaller,
        "cast": halved,
        "bitcast": as_bits,
    }
)

# Distance from the correctly rounded result, in units of the last place of float32; other operations have none.
ULPS: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(("exp", "exp2", "log", "log2", "erf", "sin", "cos", "pow"), 1),
        "rsqrt": 2,
        **dict.fromkeys(("tanh", "sigmoid"), 3),
    }
)

_CONVERTED: Mapping[str, type[DType]] = MappingProxyType({"cast": f16, "bitcast": i32})
_CLASSES = {op.name.removeprefix("tile."): op for op in ELEMENTWISE_OPS}
_DIVISIONS = ("floor_div", "floor_mod", "trunc_div", "trunc_mod")


def takes(opcode: str, dtype: type[DType]) -> bool:
    """Whether the operation is defined on the element type."""
    kind = _CLASSES[opcode]
    return bool(kind.accepts(dtype)) if issubclass(kind, UnaryOp | BinaryOp) else opcode == "select"


def gives(opcode: str, dtype: type[DType]) -> type[DType]:
    """The element type of the result."""
    is_answer = issubclass(_CLASSES[opcode], CompareOp | PredicateOp)
    return boolean if is_answer else _CONVERTED.get(opcode, dtype)


def is_of_one(opcode: str) -> bool:
    return issubclass(_CLASSES[opcode], UnaryOp) or opcode in _CONVERTED


@tile.kernel
def of_one(x: ConstView1, z: View1, *, op: Callable[..., Any]):
    e = axis("e", x.shape[0])
    for _ in parallel(shape(1)):
        z.at(coord(0), shape(e)).store(op(x[coord(0), shape(e)]))


@tile.kernel
def of_two(x: ConstView1, y: ConstView1, z: View1, *, op: Callable[..., Any]):
    e = axis("e", x.shape[0])
    for _ in parallel(shape(1)):
        z.at(coord(0), shape(e)).store(op(x[coord(0), shape(e)], y[coord(0), shape(e)]))


def captured(opcode: str, dtype: type[DType]) -> Kernel:
    """One vector, one operation."""
    spelling = SPELLINGS[opcode]
    operands, result = tensor_shape(COUNT, dtype=dtype), tensor_shape(COUNT, dtype=gives(opcode, dtype))
    if is_of_one(opcode):
        return of_one.capture(operands, result, op=spelling)
    return of_two.capture(operands, operands, result, op=spelling)


def arguments(opcode: str, dtype: type[DType]) -> list[Array]:
    """Operands of every kind of value, and a result that holds something else before."""
    rng = np.random.default_rng(len(opcode))
    operands = [_values(rng, dtype) for _ in range(1 if is_of_one(opcode) else 2)]
    if opcode in _DIVISIONS:
        operands[1][operands[1] == 0] = 3
    if opcode == "pow" and dtype.is_integer:
        operands[1] = np.abs(operands[1] % 7).astype(operands[1].dtype)
    result = np.full(COUNT, 1, numpy_dtype(gives(opcode, dtype)))
    return [*operands, result]


def _values(rng: np.random.Generator, dtype: type[DType]) -> Array:
    if dtype.kind == "bool":
        return rng.random(COUNT) < 0.5
    if dtype.kind == "float":
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e38, 3e38, 0.5, -0.5, 1.5, 2.5, 89.0, -104.0]
        drawn = rng.standard_normal(COUNT) * 10.0 ** rng.integers(-3, 3, COUNT)
        values = np.where(rng.random(COUNT) < 0.3, rng.choice(special, COUNT), drawn)
        with np.errstate(over="ignore"):
            return values.astype(numpy_dtype(dtype))
    info = np.iinfo(numpy_dtype(dtype))
    small = rng.integers(max(-9, info.min), 40, COUNT)
    edges = rng.choice([info.min, info.min + 1, info.max, info.max - 1, 0, 1], COUNT)
    return np.where(rng.random(COUNT) < 0.3, edges, small).astype(numpy_dtype(dtype))
