"""Kernels and facts that the tests of the TIRx bridge share."""

from functools import cache

from tilewright import tile
from tilewright.bridge.tirx import Compiled, TirxOptions, compile
from tilewright.ir.kernel import Kernel
from tilewright.tile import ConstView1, View1, axis, coord, exp, f32, parallel, shape, tensor_shape

__all__ = ["compiled", "programs", "shared", "staged"]


@tile.kernel
def staged(X: ConstView1[f32], Y: View1[f32], *, buffers: int = 1):
    """So many snapshots of 17 elements."""
    e = axis("e", 17)
    for _ in parallel(shape(1)):
        for place in range(buffers):
            x = X[coord(17 * place), shape(e)]
            Y.at(coord(17 * place), shape(e)).store(x + 1.0)


@tile.kernel
def programs(X: ConstView1[f32], Y: View1[f32], *, transcendental: bool = False, scope: str = "auto"):
    """As many programs as there are elements."""
    for nest in parallel(shape(axis("i", X.shape[0])), scope=scope):
        x = X[nest.index()].load()
        Y[nest.index()].store(exp(x) if transcendental else x + 1.0)


@tile.kernel
def shared(X: ConstView1[f32], Y: View1[f32], *, expensive: bool = True):
    """One tile with two readers."""
    e = axis("e", X.shape[0])
    for _ in parallel(shape(1)):
        x = X[coord(0), shape(e)]
        y = exp(x) if expensive else x - 1.0
        Y.at(coord(0), shape(e)).store(y * y)


@cache
def compiled(kernel: Kernel, options: TirxOptions = TirxOptions()) -> Compiled:  # noqa: B008  a frozen record
    return compile(kernel, options)


def captured(extent: int) -> tuple[tile.TensorShape, tile.TensorShape]:
    return tensor_shape(extent), tensor_shape(extent)
