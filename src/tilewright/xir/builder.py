"""The typed way to write XIR: one insertion point, constants made once a function, trivial integer arithmetic folded.

Operations are made through `create`: it skips xDSL's argument sorting and is three times as fast as a constructor.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.xir import ops
from tilewright.xir.constants import known_int, number_of
from tilewright.xir.control import Branch, ControlBuilder, Index, Loop
from tilewright.xir.types import I1, I64, lanes_of, scalar_of, vector_of

__all__ = ["CMPF", "CMPI", "Branch", "Index", "Loop", "XirBuilder"]

CMPI = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
CMPF = (
    *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
    *("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"),
)

_WRAPS = MappingProxyType({"overflowFlags": arith.IntegerOverflowAttr("none")})
_FAST = MappingProxyType({"fastmath": arith.FastMathFlagsAttr("none")})
_NONE: Mapping[str, Attribute] = MappingProxyType({})
_WRAPPING = (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.ShLIOp)

_FOLDS: Mapping[type[Operation], Callable[[int, int], int]] = MappingProxyType(
    {
        arith.AddiOp: lambda a, b: a + b,
        arith.SubiOp: lambda a, b: a - b,
        arith.MuliOp: lambda a, b: a * b,
        arith.MinSIOp: min,
        arith.MaxSIOp: max,
        arith.AndIOp: lambda a, b: a & b,
        arith.OrIOp: lambda a, b: a | b,
        arith.XOrIOp: lambda a, b: a ^ b,
    }
)
_COMPARES: Mapping[str, Callable[[int, int], bool]] = MappingProxyType(
    {
        "eq": lambda a, b: a == b,
        "ne": lambda a, b: a != b,
        "slt": lambda a, b: a < b,
        "sle": lambda a, b: a <= b,
        "sgt": lambda a, b: a > b,
        "sge": lambda a, b: a >= b,
    }
)


class XirBuilder(ControlBuilder):
    """Arithmetic on scalars and vectors of either kind; Python integers may stand for integer operands."""

    # ---- integers

    def add(self, a: Index, b: Index) -> SSAValue:
        a, b = self._pair(a, b)
        if known_int(a) == 0:
            return b
        return a if known_int(b) == 0 else self._integer(arith.AddiOp, a, b)

    def sub(self, a: Index, b: Index) -> SSAValue:
        a, b = self._pair(a, b)
        if a is b:
            return self.const(a.type, 0)
        return a if known_int(b) == 0 else self._integer(arith.SubiOp, a, b)

    def mul(self, a: Index, b: Index) -> SSAValue:
        a, b = self._pair(a, b)
        if known_int(a) is not None:
            a, b = b, a
        match known_int(b):
            case 0:
                return b
            case 1:
                return a
            case _:
                return self._integer(arith.MuliOp, a, b)

    def divsi(self, a: Index, b: Index) -> SSAValue:
        """Truncating signed division. The divisor must not be 0, nor the quotient overflow."""
        return self._division(arith.DivSIOp, a, b, lambda x, y: abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1))

    def divui(self, a: Index, b: Index) -> SSAValue:
        return self._division(arith.DivUIOp, a, b, lambda x, y: x // y if x >= 0 and y > 0 else None)

    def remsi(self, a: Index, b: Index) -> SSAValue:
        """The remainder of `divsi`, with the sign of `a`."""
        return self._integer_or_none(arith.RemSIOp, a, b, lambda x, y: abs(x) % abs(y) * (-1 if x < 0 else 1))

    def remui(self, a: Index, b: Index) -> SSAValue:
        return self._integer_or_none(arith.RemUIOp, a, b, lambda x, y: x % y if x >= 0 and y > 0 else None)

    def minsi(self, a: Index, b: Index) -> SSAValue:
        return self._integer(arith.MinSIOp, *self._pair(a, b))

    def maxsi(self, a: Index, b: Index) -> SSAValue:
        return self._integer(arith.MaxSIOp, *self._pair(a, b))

    def minui(self, a: Index, b: Index) -> SSAValue:
        return self._integer(arith.MinUIOp, *self._pair(a, b))

    def maxui(self, a: Index, b: Index) -> SSAValue:
        return self._integer(arith.MaxUIOp, *self._pair(a, b))

    def and_(self, a: Index, b: Index) -> SSAValue:
        a, b = self._pair(a, b)
        if known_int(a) == -1 or a is b:
            return b
        return a if known_int(b) == -1 else self._integer(arith.AndIOp, a, b)

    def or_(self, a: Index, b: Index) -> SSAValue:
        a, b = self._pair(a, b)
        if known_int(a) == 0 or a is b:
            return b
        return a if known_int(b) == 0 else self._integer(arith.OrIOp, a, b)

    def xor(self, a: Index, b: Index) -> SSAValue:
        return self._integer(arith.XOrIOp, *self._pair(a, b))

    def not_(self, a: SSAValue) -> SSAValue:
        """Every bit flipped; for i1 the logical not."""
        return self.xor(a, self.const(a.type, -1))

    def shl(self, a: Index, b: Index) -> SSAValue:
        """The amount must be below the width, as for the other shifts."""
        return self._integer(arith.ShLIOp, *self._pair(a, b))

    def shrsi(self, a: Index, b: Index) -> SSAValue:
        return self._integer(arith.ShRSIOp, *self._pair(a, b))

    def shrui(self, a: Index, b: Index) -> SSAValue:
        return self._integer(arith.ShRUIOp, *self._pair(a, b))

    def cmp(self, predicate: str, a: Index, b: Index) -> SSAValue:
        """Integer comparison: one of CMPI. Gives i1, or a mask for vectors."""
        a, b = self._pair(a, b)
        known, fold = (known_int(a), known_int(b)), _COMPARES.get(predicate)
        kind = vector_of(I1, lanes_of(a.type))
        if known[0] is not None and known[1] is not None and fold is not None:
            return self.const(kind, fold(known[0], known[1]))
        properties = {"predicate": IntegerAttr(CMPI.index(predicate), 64)}
        return self._new(arith.CmpiOp, (a, b), kind, properties)

    # ---- floating point

    def fadd(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._new(arith.AddfOp, (a, b), a.type, _FAST)

    def fsub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._new(arith.SubfOp, (a, b), a.type, _FAST)

    def fmul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._new(arith.MulfOp, (a, b), a.type, _FAST)

    def fdiv(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._new(arith.DivfOp, (a, b), a.type, _FAST)

    def fmax(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """NaN if either is NaN."""
        return self._new(arith.MaximumfOp, (a, b), a.type, _FAST)

    def fmin(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """NaN if either is NaN."""
        return self._new(arith.MinimumfOp, (a, b), a.type, _FAST)

    def fneg(self, a: SSAValue) -> SSAValue:
        return self._new(arith.NegfOp, (a,), a.type, _FAST)

    def fma(self, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
        """`a * b + c`, rounded once."""
        return self._new(math.FmaOp, (a, b, c), a.type, _FAST)

    def math(self, op: type[Operation], *operands: SSAValue) -> SSAValue:
        """One operation of the math dialect on floats: `b.math(math.ExpOp, x)`."""
        return self._new(op, operands, operands[0].type, _FAST)

    def fcmp(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """Float comparison: one of CMPF. Gives i1, or a mask for vectors."""
        properties = {"predicate": IntegerAttr(CMPF.index(predicate), 64), **_FAST}
        return self._new(arith.CmpfOp, (a, b), vector_of(I1, lanes_of(a.type)), properties)

    def select(self, cond: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        """`a` where `cond`, else `b`; lane by lane for a mask."""
        known = known_int(cond)
        if known is not None:
            return a if known else b
        return a if a is b else self._new(arith.SelectOp, (cond, a, b), a.type, _NONE)

    # ---- casts: `element` is the scalar type wanted, lanes stay

    def extsi(self, value: SSAValue, element: Attribute) -> SSAValue:
        return self._cast(arith.ExtSIOp, value, element)

    def extui(self, value: SSAValue, element: Attribute) -> SSAValue:
        return self._cast(arith.ExtUIOp, value, element)

    def trunci(self, value: SSAValue, element: Attribute) -> SSAValue:
        return self._cast(arith.TruncIOp, value, element)

    def sitofp(self, value: SSAValue, element: Attribute) -> SSAValue:
        return self._cast(arith.SIToFPOp, value, element)

    def uitofp(self, value: SSAValue, element: Attribute) -> SSAValue:
        return self._cast(arith.UIToFPOp, value, element)

    def fptosi(self, value: SSAValue, element: Attribute) -> SSAValue:
        """Toward zero, saturating; NaN gives 0."""
        return self._cast(arith.FPToSIOp, value, element)

    def fptoui(self, value: SSAValue, element: Attribute) -> SSAValue:
        """Toward zero, saturating; NaN gives 0."""
        return self._cast(arith.FPToUIOp, value, element)

    def extf(self, value: SSAValue, element: Attribute) -> SSAValue:
        return self._cast(arith.ExtFOp, value, element)

    def truncf(self, value: SSAValue, element: Attribute) -> SSAValue:
        """Rounds to nearest even."""
        return self._cast(arith.TruncFOp, value, element)

    def bitcast(self, value: SSAValue, element: Attribute) -> SSAValue:
        return self._cast(arith.BitcastOp, value, element)

    # ---- lanes

    def broadcast(self, value: SSAValue, lanes: int) -> SSAValue:
        """A scalar in every lane."""
        if lanes == 1:
            return value
        kind = vector_of(value.type, lanes)
        owner = value.owner
        if isinstance(owner, arith.ConstantOp):
            return self.const(kind, number_of(owner.properties["value"]))
        return self._new(vector.BroadcastOp, (value,), kind, _NONE)

    def lanes(self, lanes: int) -> SSAValue:
        """0, 1, ... as i64, one a lane."""
        return self.i64(0) if lanes == 1 else self.const_lanes(I64, range(lanes))

    def first_lanes(self, count: Index, lanes: int) -> SSAValue:
        """The mask of the lanes below `count`."""
        count = self.index(count)
        known = known_int(count)
        if known is not None:
            return self.const_lanes(I1, [lane < known for lane in range(lanes)])
        if lanes == 1:
            return self.cmp("sgt", count, 0)
        return self.insert(ops.FirstLanesOp(count, lanes)).results[0]

    def fold_lanes(self, kind: str, value: SSAValue) -> SSAValue:
        """All lanes folded to a scalar by halving; `kind` is one of FOLD_KINDS."""
        if lanes_of(value.type) == 1:
            return value
        return self.insert(ops.FoldLanesOp(kind, value, scalar_of(value.type))).results[0]

    def extract(self, value: SSAValue, lane: int) -> SSAValue:
        properties = {"static_position": DenseArrayBase.from_list(i64, [lane])}
        return self._new(vector.ExtractOp, (value,), scalar_of(value.type), properties)

    def insert_lane(self, scalar: SSAValue, into: SSAValue, lane: int) -> SSAValue:
        properties = {"static_position": DenseArrayBase.from_list(i64, [lane])}
        return self._new(vector.InsertOp, (scalar, into), into.type, properties)

    def shuffle(self, a: SSAValue, b: SSAValue, lanes: Sequence[int]) -> SSAValue:
        """Lane i is lane `lanes[i]` of `a` followed by `b`."""
        kind = vector_of(scalar_of(a.type), len(lanes))
        return self._new(vector.ShuffleOp, (a, b), kind, {"mask": DenseArrayBase.from_list(i64, list(lanes))})

    # ---- making

    def _new(
        self, op: type[Operation], operands: Sequence[SSAValue], kind: Attribute, properties: Mapping[str, Attribute]
    ) -> SSAValue:
        return self.insert(op.create(operands=operands, result_types=(kind,), properties=properties)).results[0]

    def _integer(self, op: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        fold = _FOLDS.get(op)
        if fold is not None:
            x, y = known_int(a), known_int(b)
            if x is not None and y is not None:
                return self.const(a.type, fold(x, y))
        return self._new(op, (a, b), a.type, _WRAPS if op in _WRAPPING else _NONE)

    def _division(self, op: type[Operation], a: Index, b: Index, fold: Callable[[int, int], int | None]) -> SSAValue:
        a, b = self._pair(a, b)
        return a if known_int(b) == 1 else self._integer_or_none(op, a, b, fold)

    def _integer_or_none(
        self, op: type[Operation], a: Index, b: Index, fold: Callable[[int, int], int | None]
    ) -> SSAValue:
        """Folds constants where the divisor is not 0 and `fold` has an answer."""
        a, b = self._pair(a, b)
        x, y = known_int(a), known_int(b)
        folded = fold(x, y) if x is not None and y else None
        return self._new(op, (a, b), a.type, _NONE) if folded is None else self.const(a.type, folded)

    def _cast(self, op: type[Operation], value: SSAValue, element: Attribute) -> SSAValue:
        kind = vector_of(element, lanes_of(value.type))
        if kind == value.type:
            return value
        known = known_int(value)
        if known is not None and op is arith.ExtSIOp:
            return self.const(kind, known)
        return self._new(op, (value,), kind, _NONE)

    def _pair(self, a: Index, b: Index) -> tuple[SSAValue, SSAValue]:
        """Both operands as values of one type; Python integers take the type of the other, i64 when both are."""
        if isinstance(a, int):
            kind = I64 if isinstance(b, int) else b.type
            a = self.const(kind, a)
        if isinstance(b, int):
            b = self.const(a.type, b)
        return a, b
