"""Arithmetic, comparisons, selects and casts. Both operands must have the same type; flags are given one by one."""

from tilewright.backends.llvm.emission import Emission
from tilewright.backends.llvm.faults import misuse
from tilewright.backends.llvm.flags import NONE, Flags, spelled
from tilewright.backends.llvm.types import I1, Kind, Type, widened
from tilewright.backends.llvm.values import Value


class Arithmetic(Emission):
    """Instructions that compute one value from values."""

    def _same(self, opcode: str, kind: Kind, a: Value, b: Value, flags: Flags) -> Value:
        shared = a.type
        if shared is not b.type or shared.kind is not kind:
            raise misuse(f"{opcode} of {a.type} and {b.type}")
        if flags:
            return self.define(shared, f"{opcode} {spelled(flags, kind)}{shared.text} {a.ref}, {b.ref}")
        return self.define(shared, f"{opcode} {shared.text} {a.ref}, {b.ref}")

    def add(self, a: Value, b: Value, flags: Flags = NONE) -> Value:
        return self._same("add", Kind.INTEGER, a, b, flags)

    def sub(self, a: Value, b: Value, flags: Flags = NONE) -> Value:
        return self._same("sub", Kind.INTEGER, a, b, flags)

    def mul(self, a: Value, b: Value, flags: Flags = NONE) -> Value:
        return self._same("mul", Kind.INTEGER, a, b, flags)

    def sdiv(self, a: Value, b: Value, flags: Flags = NONE) -> Value:
        """Truncating. Division by zero and of the least value by -1 are undefined: the caller guards them."""
        return self._same("sdiv", Kind.INTEGER, a, b, flags)

    def udiv(self, a: Value, b: Value, flags: Flags = NONE) -> Value:
        return self._same("udiv", Kind.INTEGER, a, b, flags)

    def srem(self, a: Value, b: Value) -> Value:
        return self._same("srem", Kind.INTEGER, a, b, NONE)

    def urem(self, a: Value, b: Value) -> Value:
        return self._same("urem", Kind.INTEGER, a, b, NONE)

    def and_(self, a: Value, b: Value) -> Value:
        return self._same("and", Kind.INTEGER, a, b, NONE)

    def or_(self, a: Value, b: Value, flags: Flags = NONE) -> Value:
        return self._same("or", Kind.INTEGER, a, b, flags)

    def xor(self, a: Value, b: Value) -> Value:
        return self._same("xor", Kind.INTEGER, a, b, NONE)

    def shl(self, a: Value, b: Value, flags: Flags = NONE) -> Value:
        """Poison when the amount is not below the width, as for both right shifts."""
        return self._same("shl", Kind.INTEGER, a, b, flags)

    def lshr(self, a: Value, b: Value, flags: Flags = NONE) -> Value:
        return self._same("lshr", Kind.INTEGER, a, b, flags)

    def ashr(self, a: Value, b: Value, flags: Flags = NONE) -> Value:
        return self._same("ashr", Kind.INTEGER, a, b, flags)

    def fadd(self, a: Value, b: Value, flags: Flags = NONE) -> Value:
        return self._same("fadd", Kind.FLOAT, a, b, flags)

    def fsub(self, a: Value, b: Value, flags: Flags = NONE) -> Value:
        return self._same("fsub", Kind.FLOAT, a, b, flags)

    def fmul(self, a: Value, b: Value, flags: Flags = NONE) -> Value:
        return self._same("fmul", Kind.FLOAT, a, b, flags)

    def fdiv(self, a: Value, b: Value, flags: Flags = NONE) -> Value:
        return self._same("fdiv", Kind.FLOAT, a, b, flags)

    def frem(self, a: Value, b: Value, flags: Flags = NONE) -> Value:
        """The C library's fmod: becomes a scalar call. Only for host-side tables, never for kernels."""
        return self._same("frem", Kind.FLOAT, a, b, flags)

    def fneg(self, a: Value, flags: Flags = NONE) -> Value:
        if a.type.kind is not Kind.FLOAT:
            raise misuse(f"fneg of {a.type}")
        return self.define(a.type, f"fneg {spelled(flags, Kind.FLOAT)}{a}")

    def icmp(self, predicate: str, a: Value, b: Value) -> Value:
        """`predicate` is LLVM's: eq ne slt sle sgt sge ult ule ugt uge."""
        if a.type is not b.type or a.type.kind not in (Kind.INTEGER, Kind.POINTER):
            raise misuse(f"icmp {predicate} of {a.type} and {b.type}")
        return self.define(widened(I1, a.type), f"icmp {predicate} {a.type.text} {a.ref}, {b.ref}")

    def fcmp(self, predicate: str, a: Value, b: Value, flags: Flags = NONE) -> Value:
        """`predicate` is LLVM's: o… is false, u… is true when an operand is NaN."""
        if a.type is not b.type or a.type.kind is not Kind.FLOAT:
            raise misuse(f"fcmp {predicate} of {a.type} and {b.type}")
        text = f"fcmp {spelled(flags, Kind.FLOAT)}{predicate} {a.type.text} {a.ref}, {b.ref}"
        return self.define(widened(I1, a.type), text)

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        """`a` where the condition holds: lane by lane for a vector of i1, as a whole for one i1."""
        if a.type is not b.type or condition.type not in (I1, widened(I1, a.type)):
            raise misuse(f"select of {condition.type}, {a.type}, {b.type}")
        return self.define(a.type, f"select {condition}, {a}, {b}")

    def freeze(self, a: Value) -> Value:
        return self.define(a.type, f"freeze {a}")

    def _cast(self, opcode: str, a: Value, type: Type, source: Kind, target: Kind, flags: Flags = NONE) -> Value:
        if a.type.kind is not source or type.kind is not target or a.type.lanes != type.lanes:
            raise misuse(f"{opcode} of {a.type} to {type}")
        return self.define(type, f"{opcode} {spelled(flags, Kind.INTEGER)}{a} to {type.text}")

    def trunc(self, a: Value, type: Type, flags: Flags = NONE) -> Value:
        return self._cast("trunc", a, type, Kind.INTEGER, Kind.INTEGER, flags)

    def zext(self, a: Value, type: Type, flags: Flags = NONE) -> Value:
        return self._cast("zext", a, type, Kind.INTEGER, Kind.INTEGER, flags)

    def sext(self, a: Value, type: Type) -> Value:
        return self._cast("sext", a, type, Kind.INTEGER, Kind.INTEGER)

    def fptrunc(self, a: Value, type: Type) -> Value:
        return self._cast("fptrunc", a, type, Kind.FLOAT, Kind.FLOAT)

    def fpext(self, a: Value, type: Type) -> Value:
        return self._cast("fpext", a, type, Kind.FLOAT, Kind.FLOAT)

    def fptosi(self, a: Value, type: Type) -> Value:
        """Poison out of range; `Intrinsics.fptosi_saturating` is the total form."""
        return self._cast("fptosi", a, type, Kind.FLOAT, Kind.INTEGER)

    def fptoui(self, a: Value, type: Type) -> Value:
        return self._cast("fptoui", a, type, Kind.FLOAT, Kind.INTEGER)

    def sitofp(self, a: Value, type: Type) -> Value:
        return self._cast("sitofp", a, type, Kind.INTEGER, Kind.FLOAT)

    def uitofp(self, a: Value, type: Type) -> Value:
        return self._cast("uitofp", a, type, Kind.INTEGER, Kind.FLOAT)

    def ptrtoint(self, a: Value, type: Type) -> Value:
        return self._cast("ptrtoint", a, type, Kind.POINTER, Kind.INTEGER)

    def inttoptr(self, a: Value, type: Type) -> Value:
        return self._cast("inttoptr", a, type, Kind.INTEGER, Kind.POINTER)

    def bitcast(self, a: Value, type: Type) -> Value:
        """The same bits as another type of the same size."""
        if max(1, a.type.lanes) * a.type.bits != max(1, type.lanes) * type.bits:
            raise misuse(f"bitcast of {a.type} to {type}")
        return self.define(type, f"bitcast {a} to {type.text}")
