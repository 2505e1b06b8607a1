"""The operations of XIR by kind: one table for the verifier, the passes, the interpreter and emitters."""

from collections.abc import Mapping
from types import MappingProxyType

from xdsl.dialects import arith, math, vector
from xdsl.ir import Operation

from tilewright.xir import address_ops, ops

__all__ = [
    "CASTS",
    "COMMUTATIVE",
    "FLOAT_BINARY",
    "FLOAT_UNARY",
    "INTEGER_BINARY",
    "PURE",
    "READS",
    "TRANSCENDENTAL",
]

Kinds = frozenset[type[Operation]]

INTEGER_BINARY: Kinds = frozenset(
    {
        *(arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp),
        *(arith.MinSIOp, arith.MaxSIOp, arith.MinUIOp, arith.MaxUIOp),
        *(arith.AndIOp, arith.OrIOp, arith.XOrIOp, arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp),
    }
)
FLOAT_BINARY: Kinds = frozenset(
    {
        *(arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp, arith.MaximumfOp, arith.MinimumfOp),
        *(math.CopySignOp, math.PowFOp),
    }
)
FLOAT_UNARY: Kinds = frozenset(
    {
        *(arith.NegfOp, math.AbsFOp, math.SqrtOp, math.RsqrtOp),
        *(math.FloorOp, math.CeilOp, math.TruncOp, math.RoundEvenOp),
        *(math.ExpOp, math.Exp2Op, math.LogOp, math.Log2Op, math.SinOp, math.CosOp, math.TanhOp, math.ErfOp),
        ops.SigmoidOp,
    }
)
TRANSCENDENTAL: Kinds = frozenset(
    {
        *(math.ExpOp, math.Exp2Op, math.LogOp, math.Log2Op, math.SinOp, math.CosOp, math.TanhOp, math.ErfOp),
        *(math.PowFOp, math.RsqrtOp, ops.SigmoidOp),
    }
)
"""What `expand-math` replaces; expanded modules hold none of these."""

CASTS: Mapping[type[Operation], tuple[str, str]] = MappingProxyType(
    {
        arith.ExtSIOp: ("int", "wider int"),
        arith.ExtUIOp: ("int", "wider int"),
        arith.TruncIOp: ("int", "narrower int"),
        arith.SIToFPOp: ("int", "float"),
        arith.UIToFPOp: ("int", "float"),
        arith.FPToSIOp: ("float", "int"),
        arith.FPToUIOp: ("float", "int"),
        arith.ExtFOp: ("float", "wider float"),
        arith.TruncFOp: ("float", "narrower float"),
        arith.BitcastOp: ("any", "same bits"),
    }
)
COMMUTATIVE: Kinds = frozenset(
    {
        *(arith.AddiOp, arith.MuliOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp),
        *(arith.MinSIOp, arith.MaxSIOp, arith.MinUIOp, arith.MaxUIOp),
        *(arith.AddfOp, arith.MulfOp),
    }
)
PURE: Kinds = frozenset(
    {
        *INTEGER_BINARY,
        *FLOAT_BINARY,
        *FLOAT_UNARY,
        *CASTS,
        *(arith.ConstantOp, arith.CmpiOp, arith.CmpfOp, arith.SelectOp, math.FmaOp),
        *(vector.BroadcastOp, vector.ExtractOp, vector.InsertOp, vector.ShuffleOp),
        *(ops.ScaleOp, ops.LanesOp, ops.FirstLanesOp, ops.FoldLanesOp, ops.LaneIdOp, address_ops.LineOffsetOp),
    }
)
"""No effect, and the same result for the same operands. Integer division is among them but may trap."""

READS: Kinds = frozenset({ops.LoadOp, ops.GatherOp})
