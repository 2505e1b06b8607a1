"""Products in loops that are no folds, with guards in the first or in the last iterations."""

from tilewright import tile
from tilewright.ir.kernel import Kernel
from tilewright.tile import (
    ConstView2,
    View2,
    axis,
    cdiv,
    coord,
    f32,
    iota,
    mma,
    parallel,
    shape,
    tensor_shape,
    where,
    zeros,
)

__all__ = ["KERNELS", "made"]

NESTS = ("two loops", "a loop inside")
BODIES = ("", "backwards", "both ends", "filled", "by point", "skips", "stored inside", "in place")


@tile.kernel
def product(A: ConstView2[f32], B: View2[f32], C: View2[f32], *, case: str = ""):
    """C = A B in steps of four along K, with the running sum scaled, so that the loop is no fold."""
    m, n, k = axis("m", 2), axis("n", 3), axis("k", 4)
    steps = cdiv(A.shape[1], 4)
    for nest in parallel(shape(axis("g", 1 if case == "in place" else 2))):
        here, acc = nest.index() * 2, zeros(f32, shape(m, n))
        for step in nest.serial(shape(axis("s", steps))):
            at = {"backwards": (steps - 1 - step.index()) * 4, "both ends": step.index() * 4 - 2}.get(
                case, step.index() * 4
            )
            a, b = A[coord(here, at), shape(m, k)], B[coord(at, 0), shape(k, n)]
            if case == "filled":
                a = A.at(coord(here, at), shape(m, k)).load(fill=2.0)
            if case == "by point":
                a, b = where(iota(k) + at < A.shape[1], a, 1.0), where(iota(k) + at < A.shape[1], b, 2.0)
            if at <= here + 4 if case == "skips" else True:
                acc = mma(a, b, acc * 0.5)
            if case == "stored inside":
                C.at(coord(here, 0), shape(m, n)).store(acc + C[coord(here, 0), shape(m, n)])
            if case == "in place":
                B.at(coord(at, 0), shape(k, n)).store(b + 1.0)
        C.at(coord(here, 0), shape(m, n)).store(acc)


@tile.kernel
def nests(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], *, inside: bool):
    """A loop in another one, or after it."""
    m, n, k = axis("m", 2), axis("n", 3), axis("k", 4)
    s, t = axis("s", cdiv(A.shape[1], 4)), axis("t", cdiv(A.shape[1], 4))
    for nest in parallel(shape(axis("g", 2))):
        here, acc = nest.index() * 2, zeros(f32, shape(m, n))
        for step in nest.serial(shape(s)):
            at = step.index() * 4
            acc = mma(A[coord(here, at), shape(m, k)], B[coord(at, 0), shape(k, n)], acc * 0.5)
            if inside:
                for inner in step.serial(shape(t)):
                    below = B[coord(inner.index() * 4, 0), shape(k, n)]
                    acc = mma(A[coord(here, at), shape(m, k)], below, acc + 1.0)
        if not inside:
            for step in nest.pipeline(shape(t), window=2):
                step.stage("load")
                b = B[coord(step.index() * 4, 0), shape(k, n)]
                step.stage("multiply")
                acc = mma(A[coord(here, step.index() * 4), shape(m, k)], b, acc + 1.0)
        C.at(coord(here, 0), shape(m, n)).store(acc)


def made(case: str = "", depth: int = 11) -> Kernel:
    shapes = tensor_shape(4, depth), tensor_shape(depth, 3), tensor_shape(4, 3)
    return nests.capture(*shapes, inside=case == NESTS[1]) if case in NESTS else product.capture(*shapes, case=case)


KERNELS: dict[str, Kernel] = {
    **{f"steps of a product, {case or 'plain'}": made(case) for case in (*BODIES, *NESTS)},
    "steps of a product with more below": product.capture(tensor_shape(4, 11), tensor_shape(12, 3), tensor_shape(4, 3)),
    **{f"steps of a product of depth {depth}": made("by point", depth) for depth in (0, 1, 5)},
}
