"""LLVM's intrinsics, declared on use under their mangled names."""

from collections.abc import Sequence

from tilewright.backends.llvm.emission import Emission
from tilewright.backends.llvm.faults import misuse
from tilewright.backends.llvm.flags import NONE, REASSOCIATE, Flags, spelled
from tilewright.backends.llvm.types import I1, I8, I16, I32, VOID, Kind, Type, widened
from tilewright.backends.llvm.values import Value, constant

UNARY_FLOAT = frozenset(
    {"fabs", "sqrt", "floor", "ceil", "trunc", "rint", "roundeven", "nearbyint", "canonicalize", "arithmetic.fence"}
)
BINARY_FLOAT = frozenset({"copysign", "maximum", "minimum", "maxnum", "minnum", "maximumnum", "minimumnum"})
BINARY_INTEGER = frozenset({"smax", "smin", "umax", "umin", "sadd.sat", "ssub.sat", "uadd.sat", "usub.sat"})
REDUCTIONS = frozenset({"add", "mul", "and", "or", "xor", "smax", "smin", "umax", "umin", "fmaximum", "fminimum"})


class Intrinsics(Emission):
    """Calls of `llvm.*`. None of them becomes a library call on the targets we emit for, except where said."""

    def intrinsic(self, name: str, result: Type, operands: Sequence[Value], flags: Flags = NONE) -> Value:
        """Any intrinsic under its full mangled name."""
        self.module.declare(name, result, [operand.type for operand in operands])
        arguments = ", ".join([str(operand) for operand in operands])
        return self.define(result, f"call {spelled(flags, Kind.FLOAT)}{result.text} @{name}({arguments})")

    def effect_intrinsic(self, name: str, operands: Sequence[Value] = ()) -> None:
        """An intrinsic without a result."""
        self.module.declare(name, VOID, [operand.type for operand in operands])
        self.emit(f"call void @{name}({', '.join(str(operand) for operand in operands)})")

    def float_unary(self, name: str, a: Value, flags: Flags = NONE) -> Value:
        """One of UNARY_FLOAT."""
        if name not in UNARY_FLOAT or a.type.kind is not Kind.FLOAT:
            raise misuse(f"llvm.{name} of {a.type}")
        return self.intrinsic(f"llvm.{name}.{a.type.mangled}", a.type, (a,), flags)

    def float_binary(self, name: str, a: Value, b: Value, flags: Flags = NONE) -> Value:
        """One of BINARY_FLOAT. `maximum` and `minimum` propagate NaN and order -0 below +0."""
        if name not in BINARY_FLOAT or a.type is not b.type or a.type.kind is not Kind.FLOAT:
            raise misuse(f"llvm.{name} of {a.type} and {b.type}")
        return self.intrinsic(f"llvm.{name}.{a.type.mangled}", a.type, (a, b), flags)

    def integer_binary(self, name: str, a: Value, b: Value) -> Value:
        """One of BINARY_INTEGER."""
        if name not in BINARY_INTEGER or a.type is not b.type or a.type.kind is not Kind.INTEGER:
            raise misuse(f"llvm.{name} of {a.type} and {b.type}")
        return self.intrinsic(f"llvm.{name}.{a.type.mangled}", a.type, (a, b))

    def integer_abs(self, a: Value) -> Value:
        """|a|, with the least value left as it is."""
        return self.intrinsic(f"llvm.abs.{a.type.mangled}", a.type, (a, constant(I1, 0)))

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """Product plus `c`, rounded once."""
        shared = a.type
        if shared is not b.type or shared is not c.type or shared.kind is not Kind.FLOAT:
            raise misuse(f"fma of {a.type}, {b.type}, {c.type}")
        name = f"llvm.fma.{shared.mangled}"
        self.module.declare(name, shared, (shared, shared, shared))
        text = shared.text
        return self.define(shared, f"call {text} @{name}({text} {a.ref}, {text} {b.ref}, {text} {c.ref})")

    def ldexp(self, a: Value, exponent: Value) -> Value:
        """Scales by 2**exponent. Becomes scalar library calls on targets below AVX-512: not for those."""
        name = f"llvm.ldexp.{a.type.mangled}.{exponent.type.mangled}"
        return self.intrinsic(name, a.type, (a, exponent))

    def scalef(self, a: Value, exponent: Value) -> Value:
        """AVX-512's instruction: scales a 512-bit vector by 2**exponent, whole numbers of the type of `a`."""
        if a.type is not exponent.type or a.type.element.bits * a.type.lanes != 512:
            raise misuse(f"scalef of {a.type} by {exponent.type}")
        kind, mask = {32: ("ps", I16), 64: ("pd", I8)}[a.type.element.bits]
        every, as_set = constant(mask, -1), constant(I32, 4)
        return self.intrinsic(f"llvm.x86.avx512.mask.scalef.{kind}.512", a.type, (a, exponent, a, every, as_set))

    def is_fp_class(self, a: Value, mask: int) -> Value:
        """Whether `a` is in one of the classes of LLVM's bit mask (3 NaN, 516 infinity, 144 subnormal)."""
        return self.intrinsic(f"llvm.is.fpclass.{a.type.mangled}", widened(I1, a.type), (a, constant(I32, mask)))

    def fptosi_saturating(self, a: Value, type: Type) -> Value:
        """Truncates, saturates, and takes NaN to 0."""
        return self.intrinsic(f"llvm.fptosi.sat.{type.mangled}.{a.type.mangled}", type, (a,))

    def fptoui_saturating(self, a: Value, type: Type) -> Value:
        return self.intrinsic(f"llvm.fptoui.sat.{type.mangled}.{a.type.mangled}", type, (a,))

    def reduce(self, name: str, a: Value, flags: Flags = NONE) -> Value:
        """One of REDUCTIONS over the lanes of `a`."""
        if name not in REDUCTIONS or not a.type.is_vector:
            raise misuse(f"llvm.vector.reduce.{name} of {a.type}")
        return self.intrinsic(f"llvm.vector.reduce.{name}.{a.type.mangled}", a.type.element, (a,), flags)

    def reduce_fadd(self, start: Value, a: Value, flags: Flags = NONE) -> Value:
        """`start + a[0] + a[1] + …`, in lane order unless `flags` has `reassoc`."""
        name = f"llvm.vector.reduce.fadd.{a.type.mangled}"
        return self.intrinsic(name, a.type.element, (start, a), flags)

    def reduce_fadd_tree(self, a: Value) -> Value:
        """The sum of the lanes in an order of LLVM's choice; -0.0 is the neutral start."""
        return self.reduce_fadd(constant(a.type.element, -0.0), a, REASSOCIATE)

    def reduce_fmul(self, start: Value, a: Value, flags: Flags = NONE) -> Value:
        name = f"llvm.vector.reduce.fmul.{a.type.mangled}"
        return self.intrinsic(name, a.type.element, (start, a), flags)
