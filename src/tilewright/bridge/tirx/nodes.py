"""Constructors of TIRx nodes, raw: none of them simplifies.

TVM's operators and most of its functions fold what they can prove, and take floats for real numbers: `x * 0` becomes
0 and `x != x` false. Its own `NE` on floats is *ordered*, so unequal is written as the negation of equal here.
"""

import struct
from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

from tilewright.bridge.tirx.door import Door

__all__ = ["Buffer", "Expr", "Nodes", "Stmt"]

Expr = Any
"""An expression of TIRx."""
Stmt = Any
"""A statement of TIRx."""
Buffer = Any
"""A buffer variable of TIRx."""

_SIGN = 1 << 63


class Nodes:
    """One method a node. `dtype` is TIRx's name of an element type, as in "float32"."""

    def __init__(self, door: Door) -> None:
        self.door = door
        self._t = door.tirx

    # ---- leaves

    def var(self, name: str, dtype: str) -> Expr:
        return self._t.Var(name, dtype)

    def int_(self, dtype: str, value: int) -> Expr:
        """A whole number; those from 2**63 on go through their bits."""
        if value >= _SIGN:
            return self._t.reinterpret(dtype, self._t.IntImm("int64", value - 2 * _SIGN))
        return self._t.IntImm(dtype, value)

    def i64(self, value: int) -> Expr:
        return self._t.IntImm("int64", value)

    def bool_(self, *, value: bool) -> Expr:
        return self._t.IntImm("bool", int(value))

    def float_(self, dtype: str, value: float) -> Expr:
        return self._t.FloatImm(dtype, value)

    def exact_float(self, dtype: str, bits: int) -> Expr:
        """The float32 or float64 of a bit pattern; a NaN keeps its payload."""
        width = int(dtype.removeprefix("float"))
        number = struct.unpack("<f" if width == 32 else "<d", bits.to_bytes(width // 8, "little"))[0]
        return self.reinterpret(dtype, self.int_(f"uint{width}", bits)) if isnan(number) else self.float_(dtype, number)

    def is_leaf(self, e: Expr) -> bool:
        """Whether evaluating it twice costs nothing."""
        return isinstance(e, (self._t.Var, self._t.IntImm, self._t.FloatImm))

    def dtype(self, e: Expr) -> str:
        return str(e.ty)

    def itemsize(self, dtype: str) -> int:
        """Bytes of an element in memory."""
        return int(dtype.strip("abcdefghijklmnopqrstuvwxyz")) // 8

    def as_byte(self, value: Expr) -> Expr:
        """A boolean as the byte 0 or 1; other values as they are."""
        if self.dtype(value) != "bool":
            return value
        return self.select(value, self.int_("uint8", 1), self.int_("uint8", 0))

    def source_name(self, e: Expr) -> str:
        """The name of the buffer that a load reads; nothing for other expressions."""
        return str(e.source.name) if isinstance(e, self.door.tvm.ir.TensorLoad) else ""

    # ---- arithmetic

    def add(self, a: Expr, b: Expr) -> Expr:
        """Of integers from 32 bits on only where the sum fits: LLVM is told that it does."""
        return self._t.Add(a, b)

    def sub(self, a: Expr, b: Expr) -> Expr:
        """See `add`."""
        return self._t.Sub(a, b)

    def mul(self, a: Expr, b: Expr) -> Expr:
        """See `add`."""
        return self._t.Mul(a, b)

    def div(self, a: Expr, b: Expr) -> Expr:
        """Of integers rounded toward zero; a zero divisor traps."""
        return self._t.Div(a, b)

    def mod(self, a: Expr, b: Expr) -> Expr:
        """Remainder of `div`."""
        return self._t.Mod(a, b)

    def floordiv(self, a: Expr, b: Expr) -> Expr:
        """By a positive constant."""
        return self._t.FloorDiv(a, b)

    def floormod(self, a: Expr, b: Expr) -> Expr:
        """By a positive constant."""
        return self._t.FloorMod(a, b)

    def min(self, a: Expr, b: Expr) -> Expr:
        """Of integers: on floats TVM's forgets a NaN."""
        return self._t.Min(a, b)

    def max(self, a: Expr, b: Expr) -> Expr:
        """See `min`."""
        return self._t.Max(a, b)

    def bit_and(self, a: Expr, b: Expr) -> Expr:
        return self._t.bitwise_and(a, b)

    def bit_or(self, a: Expr, b: Expr) -> Expr:
        return self._t.bitwise_or(a, b)

    def bit_xor(self, a: Expr, b: Expr) -> Expr:
        return self._t.bitwise_xor(a, b)

    def bit_not(self, a: Expr) -> Expr:
        return self._t.bitwise_not(a)

    def shl(self, a: Expr, b: Expr) -> Expr:
        """By less than the width."""
        return self._t.shift_left(a, b)

    def shr(self, a: Expr, b: Expr) -> Expr:
        """By less than the width: arithmetic for signed types, logical for unsigned ones."""
        return self._t.shift_right(a, b)

    # ---- comparisons and choices

    def eq(self, a: Expr, b: Expr) -> Expr:
        return self._t.EQ(a, b)

    def ne(self, a: Expr, b: Expr) -> Expr:
        """True where an operand is NaN."""
        return self._t.Not(self._t.EQ(a, b))

    def lt(self, a: Expr, b: Expr) -> Expr:
        return self._t.LT(a, b)

    def le(self, a: Expr, b: Expr) -> Expr:
        return self._t.LE(a, b)

    def gt(self, a: Expr, b: Expr) -> Expr:
        return self._t.GT(a, b)

    def ge(self, a: Expr, b: Expr) -> Expr:
        return self._t.GE(a, b)

    def and_(self, a: Expr, b: Expr) -> Expr:
        return self._t.And(a, b)

    def or_(self, a: Expr, b: Expr) -> Expr:
        return self._t.Or(a, b)

    def not_(self, a: Expr) -> Expr:
        return self._t.Not(a)

    def select(self, condition: Expr, on_true: Expr, on_false: Expr) -> Expr:
        """Evaluates both arms."""
        return self._t.Select(condition, on_true, on_false)

    def lazily(self, condition: Expr, on_true: Expr, on_false: Expr) -> Expr:
        """Evaluates one arm."""
        return self._t.if_then_else(condition, on_true, on_false)

    # ---- vectors

    def vector(self, dtype: str, width: int) -> str:
        """The type of so many lanes."""
        return f"{dtype}x{width}"

    def ramp(self, first: Expr, width: int) -> Expr:
        """Neighbours from an index on."""
        return self._t.Ramp(first, self._t.IntImm(self.dtype(first), 1), width)

    def broadcast(self, e: Expr, width: int) -> Expr:
        return self._t.Broadcast(e, width)

    def masked_load(self, dtype: str, buffer: Buffer, indices: Sequence[Expr], mask: Expr) -> Expr:
        """Undefined in the lanes that the mask leaves out, which touch no memory."""
        return self._t.op.masked_load(dtype, buffer, *indices, mask)

    # ---- conversions and calls

    def cast(self, dtype: str, e: Expr) -> Expr:
        """The machine's conversion: float to integer only where the number fits."""
        return e if self.dtype(e) == dtype else self._t.Cast(dtype, e)

    def reinterpret(self, dtype: str, e: Expr) -> Expr:
        return e if self.dtype(e) == dtype else self._t.reinterpret(dtype, e)

    def intrinsic(self, name: str, *operands: Expr) -> Expr:
        """An LLVM intrinsic without effects, overloaded on the type of its operands."""
        return self._t.call_llvm_pure_intrin(self.dtype(operands[0]), name, *operands)

    def call(self, symbol: str, *operands: Expr) -> Expr:
        """A C function without effects; its symbol must exist in the process."""
        return self._t.call_pure_extern(self.dtype(operands[0]), symbol, *operands)

    def prefetch(self, element: Expr) -> Expr:
        """Asks the caches for an element that will be read. The address must lie in its buffer."""
        facts = [self._t.IntImm("int32", fact) for fact in (0, 3, 1)]  # to read, into the nearest cache, data
        return self._t.call_llvm_intrin("void", "llvm.prefetch", self._t.address_of(element), *facts)

    # ---- buffers and statements

    def buffer(self, name: str, dtype: str, shape: Sequence[int], *, alignment: int, scope: str = "") -> Buffer:
        """`alignment` in bytes is a promise; TVM's own default of 64 is one that NumPy does not keep."""
        extents = [self.i64(max(extent, 1)) for extent in shape]
        return self._t.decl_buffer(extents, dtype, name=name, scope=scope, data_alignment=alignment)

    def like(self, buffer: Buffer, name: str, shape: Sequence[int]) -> Buffer:
        """A buffer of our own of the same kind."""
        kind = str(buffer.dtype)
        return self.buffer(name, kind, shape, alignment=self.itemsize(kind), scope=str(buffer.scope()))

    def load(self, buffer: Buffer, indices: Sequence[Expr]) -> Expr:
        return self._t.BufferLoad(buffer, list(indices))

    def store(self, buffer: Buffer, value: Expr, indices: Sequence[Expr]) -> Stmt:
        return self._t.BufferStore(buffer, value, list(indices))

    def allocate(self, buffer: Buffer, annotations: Mapping[str, object]) -> Stmt:
        """Visible to the rest of the sequence that it stands in."""
        return self._t.AllocBuffer(buffer, self._noted(annotations))

    def bind(self, var: Expr, value: Expr) -> Stmt:
        """Visible to the rest of the sequence that it stands in."""
        return self._t.Bind(var, value)

    def sequence(self, statements: Sequence[Stmt]) -> Stmt:
        if not statements:
            return self._t.Evaluate(self._t.IntImm("int32", 0))
        return statements[0] if len(statements) == 1 else self._t.SeqStmt(list(statements))

    def for_(self, index: Expr, extent: int, body: Stmt, annotations: Mapping[str, object]) -> Stmt:
        kind = self._t.ForKind.SERIAL
        return self._t.For(index, self.i64(0), self.i64(extent), kind, body, annotations=self._noted(annotations))

    def if_(self, condition: Expr, then: Stmt) -> Stmt:
        return self._t.IfThenElse(condition, then, None)

    def marker(self, key: str, text: str) -> Stmt:
        """A statement that does nothing and carries a word."""
        word = self.door.tvm.ir.StringImm(text)
        return self._t.AttrStmt(self._t.IntImm("int32", 0), key, word, self.sequence([]))

    def function(self, name: str, buffers: Sequence[Buffer], body: Stmt, attributes: Mapping[str, object]) -> Any:
        made = self._t.PrimFunc(list(buffers), body)
        return made.with_attr({"global_symbol": name, **self._noted(attributes)})

    def _noted(self, annotations: Mapping[str, object]) -> dict[str, object]:
        """Numbers as nodes; words and truths as they are."""
        return {
            key: self._t.IntImm("int32", value) if isinstance(value, int) and not isinstance(value, bool) else value
            for key, value in annotations.items()
        }
