"""Library algorithms: pure expansions into core operations.

Half tiles are computed in f32 and rounded once, at the end. The formulas are those of the usual deep-learning
references, named where there is more than one.
"""

import math

from tilewright.core.codes.capture import REGION_POLICY
from tilewright.core.dtypes import DType
from tilewright.core.errors import CaptureError
from tilewright.core.source import user_span
from tilewright.lang.contraction import accumulator
from tilewright.lang.folds import Axes, as_axes, reduce
from tilewright.lang.math import V, erf, exp, log, rsqrt, sigmoid, tanh, where
from tilewright.lang.operations import typed
from tilewright.lang.reducers import add, maximum
from tilewright.lang.values import Tile

__all__ = ["gelu", "layer_norm", "logsumexp", "mean", "rms_norm", "silu", "softmax", "sum", "var"]


def sum(tile: Tile, axis: Axes) -> Tile:
    """The sum over one or more axes; 0 over nothing."""
    return reduce(tile, axis, add)


def mean(tile: Tile, axis: Axes) -> Tile:
    """The sum over one or more axes divided by the number of elements; NaN over nothing."""
    wide = _widened(tile, "mean")
    return (reduce(wide, axis, add) / _count(axis)).astype(tile.dtype)


def var(tile: Tile, axis: Axes, *, correction: int = 0) -> Tile:
    """The mean squared distance from the mean, in two passes; `correction` is taken off the number of elements."""
    wide = _widened(tile, "var")
    return _var(wide, axis, correction).astype(tile.dtype)


def softmax(tile: Tile, axis: Axes) -> Tile:
    """exp(x - max) over its sum. A row of nothing but -inf, as a mask that covers it leaves behind, gives zeros."""
    wide = _widened(tile, "softmax")
    peak = reduce(wide, axis, maximum)
    weights = exp(wide - where(peak == -math.inf, 0.0, peak))
    total = reduce(weights, axis, add)
    return (weights / where(total == 0.0, 1.0, total)).astype(tile.dtype)


def logsumexp(tile: Tile, axis: Axes) -> Tile:
    """log(sum(exp(x))), without overflow; -inf for a row of nothing but -inf."""
    wide = _widened(tile, "logsumexp")
    peak = reduce(wide, axis, maximum)
    origin = where(peak == -math.inf, 0.0, peak)
    return (log(reduce(exp(wide - origin), axis, add)) + origin).astype(tile.dtype)


def silu(x: V) -> V:
    """X * sigmoid(x), also called swish."""
    wide = _widened(x, "silu")
    return (wide * sigmoid(wide)).astype(x.dtype)


def gelu(x: V, approximate: str = "erf") -> V:
    """X times the normal distribution's share below x: by `erf`, or by the `tanh` approximation.

    Hendrycks and Gimpel, "Gaussian Error Linear Units" (2016). Raises CaptureError (TW130) for another word.
    """
    wide = _widened(x, "gelu")
    if approximate == "erf":
        share = erf(wide * math.sqrt(0.5)) + 1.0
    elif approximate == "tanh":
        share = tanh((wide + wide * wide * wide * 0.044715) * math.sqrt(2 / math.pi)) + 1.0
    else:
        reason = "the exact form uses erf; the approximation by tanh gives other digits"
        raise CaptureError(
            REGION_POLICY.at(
                user_span(), what=f"gelu by {approximate!r}", reason=reason, remedy='use gelu(x) or gelu(x, "tanh")'
            )
        )
    return (wide * 0.5 * share).astype(x.dtype)


def layer_norm(
    tile: Tile, axis: Axes, weight: Tile | None = None, bias: Tile | None = None, *, eps: float = 1e-5
) -> Tile:
    """(x - mean) / sqrt(var + eps), then times `weight` and plus `bias`, which have the axes they vary along."""
    wide = _widened(tile, "layer_norm")
    centred = wide - mean(wide, axis)
    scaled = centred * rsqrt(mean(centred * centred, axis) + eps)
    return _affine(scaled, weight, bias).astype(tile.dtype)


def rms_norm(tile: Tile, axis: Axes, weight: Tile | None = None, *, eps: float = 1e-5) -> Tile:
    """X / sqrt(mean(x * x) + eps), then times `weight`."""
    wide = _widened(tile, "rms_norm")
    scaled = wide * rsqrt(mean(wide * wide, axis) + eps)
    return _affine(scaled, weight, None).astype(tile.dtype)


def _var(wide: Tile, axis: Axes, correction: int) -> Tile:
    centred = wide - mean(wide, axis)
    return reduce(centred * centred, axis, add) / _at_least_zero(_count(axis) - correction)


def _at_least_zero(count: float) -> float:
    return max(count, 0.0)


def _count(axis: Axes) -> float:
    return float(math.prod(each.extent for each in as_axes(axis)))


def _affine(x: Tile, weight: Tile | None, bias: Tile | None) -> Tile:
    if weight is not None:
        x = x * weight.astype(x.dtype)
    return x if bias is None else x + bias.astype(x.dtype)


def _widened(x: V, op: str) -> V:
    """The operand in the type its folds are carried in."""
    typed(x, op)
    wide: type[DType] = accumulator(x.dtype)
    return x.astype(wide)
