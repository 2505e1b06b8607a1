"""Normalizations along axes: softmax and its kin, layer and root-mean-square norms."""

import math

from tilewright.lang.folds import Axes, reduce
from tilewright.lang.library.operands import widened
from tilewright.lang.library.statistics import mean
from tilewright.lang.math import exp, log, rsqrt
from tilewright.lang.math import where as select
from tilewright.lang.reducers import add, maximum
from tilewright.lang.values import Operand, Tile

__all__ = ["layer_norm", "log_softmax", "logsumexp", "rms_norm", "softmax"]

_MASKED = -math.inf


def softmax(tile: Tile, axis: Axes, *, where: Operand | None = None) -> Tile:
    """exp(x - max) over its sum. Elements where `where` is false take no part and give 0.

    A row of which nothing is left, or that is nothing but -inf, gives zeros.
    """
    weights, total, _ = _weighed(tile, axis, where, "softmax")
    return (weights / _nonzero(total)).astype(tile.dtype)


def log_softmax(tile: Tile, axis: Axes, *, where: Operand | None = None) -> Tile:
    """The logarithm of softmax, without overflow; -inf where softmax is 0 by its mask."""
    _, total, shifted = _weighed(tile, axis, where, "log_softmax")
    return (shifted - log(_nonzero(total))).astype(tile.dtype)


def logsumexp(tile: Tile, axis: Axes, *, where: Operand | None = None) -> Tile:
    """log(sum(exp(x))), without overflow; -inf for a row of nothing but -inf."""
    wide = _visible(widened(tile, "logsumexp"), where)
    origin = _origin(wide, axis)
    return (log(reduce(exp(wide - origin), axis, add)) + origin).astype(tile.dtype)


def layer_norm(
    tile: Tile, axis: Axes, weight: Tile | None = None, bias: Tile | None = None, *, eps: float = 1e-5
) -> Tile:
    """(x - mean) / sqrt(var + eps), then times `weight` and plus `bias`, which have the axes they vary along."""
    wide = widened(tile, "layer_norm")
    centred = wide - mean(wide, axis)
    scaled = centred * rsqrt(mean(centred * centred, axis) + eps)
    return _affine(scaled, weight, bias).astype(tile.dtype)


def rms_norm(tile: Tile, axis: Axes, weight: Tile | None = None, *, eps: float = 1e-5) -> Tile:
    """X / sqrt(mean(x * x) + eps), then times `weight`."""
    wide = widened(tile, "rms_norm")
    scaled = wide * rsqrt(mean(wide * wide, axis) + eps)
    return _affine(scaled, weight, None).astype(tile.dtype)


def _weighed(tile: Tile, axis: Axes, mask: Operand | None, op: str) -> tuple[Tile, Tile, Tile]:
    """Exp of the distance from the maximum, the sum of that, and the distance."""
    wide = _visible(widened(tile, op), mask)
    shifted = wide - _origin(wide, axis)
    weights = exp(shifted)
    return weights, reduce(weights, axis, add), shifted


def _visible(wide: Tile, mask: Operand | None) -> Tile:
    return wide if mask is None else select(mask, wide, _MASKED)


def _origin(wide: Tile, axis: Axes) -> Tile:
    """The maximum, or 0 where there is no finite one, so that the distance from it is no NaN."""
    peak = reduce(wide, axis, maximum)
    return select(peak == -math.inf, 0.0, peak)


def _nonzero(total: Tile) -> Tile:
    return select(total == 0.0, 1.0, total)


def _affine(x: Tile, weight: Tile | None, bias: Tile | None) -> Tile:
    if weight is not None:
        x = x * weight.astype(x.dtype)
    return x if bias is None else x + bias.astype(x.dtype)
