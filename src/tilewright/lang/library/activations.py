"""Activation functions, element by element; half types are computed in f32 and rounded once."""

import math

from tilewright.core.codes.capture import REGION_POLICY
from tilewright.core.errors import CaptureError
from tilewright.core.source import user_span
from tilewright.ir.ops.elementwise import MaxOp, MinOp
from tilewright.lang.library.operands import widened
from tilewright.lang.math import V, abs, erf, exp, log, sigmoid, where
from tilewright.lang.operations import binary, typed
from tilewright.lang.values import Number, wrap_like

__all__ = ["clamp", "elu", "gelu", "leaky_relu", "relu", "silu", "softplus"]


def relu(x: V) -> V:
    """The larger of x and 0; NaN stays."""
    return _maximum(x, 0)


def leaky_relu(x: V, slope: float = 0.01) -> V:
    """X, times `slope` where it is negative."""
    wide = widened(x, "leaky_relu")
    return _chosen(wide, wide < 0.0, wide * slope).astype(x.dtype)


def elu(x: V, alpha: float = 1.0) -> V:
    """X, or `alpha` (exp(x) - 1) where it is negative. Clevert et al. (2015)."""
    wide = widened(x, "elu")
    return _chosen(wide, wide < 0.0, (exp(wide) - 1.0) * alpha).astype(x.dtype)


def softplus(x: V) -> V:
    """log(1 + exp(x)), computed as max(x, 0) + log(1 + exp(-|x|)), which does not overflow."""
    wide = widened(x, "softplus")
    return (_maximum(wide, 0) + log(exp(-abs(wide)) + 1.0)).astype(x.dtype)


def silu(x: V) -> V:
    """X * sigmoid(x), also called swish."""
    wide = widened(x, "silu")
    return (wide * sigmoid(wide)).astype(x.dtype)


def gelu(x: V, approximate: str = "erf") -> V:
    """X times the normal distribution's share below x: by `erf`, or by the `tanh` approximation.

    Hendrycks and Gimpel, "Gaussian Error Linear Units" (2016). Raises CaptureError (TW130) for another word.
    """
    wide = widened(x, "gelu")
    if approximate == "erf":
        share = (erf(wide * math.sqrt(0.5)) + 1.0) * 0.5
    elif approximate == "tanh":
        slope = math.sqrt(8 / math.pi)
        share = sigmoid((wide * wide * (0.044715 * slope) + slope) * wide)  # as (1 + tanh of half) / 2
    else:
        reason = "the exact form uses erf; the approximation by tanh gives other digits"
        raise CaptureError(
            REGION_POLICY.at(
                user_span(), what=f"gelu by {approximate!r}", reason=reason, remedy='use gelu(x) or gelu(x, "tanh")'
            )
        )
    return (wide * share).astype(x.dtype)


def clamp(x: V, low: Number | None = None, high: Number | None = None) -> V:
    """X moved to the nearest value of `low` ... `high`; NaN stays. A bound left out does not bind."""
    typed(x, "clamp")
    above = x if low is None else _maximum(x, low)
    return above if high is None else wrap_like(x, binary(MinOp, "clamp", above, high))


def _maximum(x: V, bound: Number) -> V:
    return wrap_like(x, binary(MaxOp, "maximum", x, bound))


def _chosen(x: V, condition: V, other: V) -> V:
    return wrap_like(x, where(condition, other, x).ssa)
