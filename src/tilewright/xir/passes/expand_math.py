"""`expand-math`: elementary functions become arithmetic."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from xdsl.dialects import math
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.core.codes.unsupported import NO_VECTOR_MATH
from tilewright.core.errors import UnsupportedError
from tilewright.xir import ops
from tilewright.xir.builder import XirBuilder
from tilewright.xir.location import span_of
from tilewright.xir.rewrite import expand
from tilewright.xir.vector_math import (
    exponential,
    fast,
    fast_trigonometric,
    logarithm,
    power,
    power_f64,
    trigonometric,
    trigonometric_f64,
)
from tilewright.xir.vector_math.formats import F32, F64, Format, Lanes, format_of

__all__ = ["FAST", "ExpandMath"]

Function = Callable[..., SSAValue]
Tier = Mapping[Format, Mapping[type[Operation], Function]]


PRECISE: Tier = MappingProxyType(
    {
        F32: {
            math.ExpOp: exponential.exp,
            math.Exp2Op: exponential.exp2,
            math.TanhOp: exponential.tanh,
            math.ErfOp: exponential.erf,
            ops.SigmoidOp: exponential.sigmoid,
            math.LogOp: logarithm.log,
            math.Log2Op: logarithm.log2,
            math.RsqrtOp: logarithm.rsqrt,
            math.SinOp: trigonometric.sin,
            math.CosOp: trigonometric.cos,
            math.PowFOp: power.pow_,
        },
        F64: {
            math.ExpOp: exponential.exp,
            math.Exp2Op: exponential.exp2_f64,
            math.TanhOp: exponential.tanh_f64,
            math.ErfOp: exponential.erf_f64,
            ops.SigmoidOp: exponential.sigmoid,
            math.SinOp: trigonometric_f64.sin_f64,
            math.CosOp: trigonometric_f64.cos_f64,
            math.PowFOp: power_f64.pow_f64,
            math.LogOp: logarithm.log_f64,
            math.Log2Op: logarithm.log2_f64,
            math.RsqrtOp: logarithm.rsqrt,
        },
    }
)
FAST: Tier = MappingProxyType(
    {
        F32: {
            **PRECISE[F32],
            math.ExpOp: fast.exp,
            math.Exp2Op: fast.exp2,
            math.TanhOp: fast.tanh,
            math.ErfOp: fast.erf,
            ops.SigmoidOp: fast.sigmoid,
            math.LogOp: fast.log,
            math.Log2Op: fast.log2,
            math.SinOp: fast_trigonometric.sin,
            math.CosOp: fast_trigonometric.cos,
            math.PowFOp: power.fast_pow,
        },
        F64: PRECISE[F64],
    }
)
"""For `fast_math`: the float32 functions that gain by it, with wider bounds. The others are those of PRECISE."""


@dataclass(frozen=True, slots=True)
class ExpandMath:
    """Requires: a verified module.

    Ensures: no operation of catalogue.TRANSCENDENTAL is left, and no call into a mathematical library.
    Rewrites: `math.exp` and its like on scalars or vectors -> polynomials, fused multiply-adds, bit casts, selects.
    Declines: nothing; raises UnsupportedError (TW460) for element types other than float32 and float64.
    """

    name: str = "expand-math"
    tier: Tier = field(default_factory=lambda: PRECISE, repr=False)

    def apply(self, module: ModuleOp) -> int:
        return expand(module, dict.fromkeys(self.tier[F32], self._expanded))

    def _expanded(self, b: XirBuilder, op: Operation) -> tuple[SSAValue]:
        kind: Attribute = op.results[0].type
        fmt = format_of(kind)
        function = self.tier[fmt].get(type(op)) if fmt is not None else None
        if fmt is None or function is None:
            raise UnsupportedError(NO_VECTOR_MATH.at(span_of(op), function=op.name, element=kind))
        return (function(Lanes(b, op.operands[0], fmt), *op.operands),)
