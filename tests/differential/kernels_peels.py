"""Programs over blocks that are read across, so that a partial last block is no limit."""

from tilewright import tile
from tilewright.ir.kernel import Kernel
from tilewright.tile import View1, View2, add, axis, cdiv, coord, f32, maximum, parallel, scan, shape, tensor_shape

__all__ = ["KERNELS", "made", "scaled"]


@tile.kernel
def scaled(X: View2[f32], Y: View2[f32], S: View1[f32], *, case: str = "", bm: int = 2, bn: int = 8):
    """Every block of columns by its own largest element."""
    m, n = axis("m", bm), axis("n", bn)
    gm, gn = axis("gm", cdiv(X.shape[0], bm)), axis("gn", cdiv(X.shape[1], bn) + (case == "a block too many"))
    for nest in parallel(shape(gm, gn)):
        here = coord(nest.index(gm) * bm, nest.index(gn) * bn)
        if case == "before the view":
            here = coord(nest.index(gm) * bm, nest.index(gn) * bn - 3)
        x = X[here, shape(m, n)]
        y = x / tile.reduce(x, n, maximum)
        if case == "in place":
            X.at(here, shape(m, n)).store(y)
        elif case == "a loop inside":
            for _ in nest.serial(shape(axis("s", 2))):
                y = scan(y, n, add) + X[here, shape(m, n)]
                Y.at(here, shape(m, n)).store(y)
        else:
            Y.at(here, shape(m, n)).store(y)
        if case == "counts":
            S.update(coord(0), 1.0, reducer=add)


def made(rows: int, columns: int, case: str = "", bn: int = 8) -> Kernel:
    return scaled.capture(tensor_shape(rows, columns), tensor_shape(rows, columns), tensor_shape(1), case=case, bn=bn)


CASES = ("", "in place", "a loop inside", "counts", "before the view", "a block too many")
SIZES = ((3, 19), (3, 16), (1, 1), (0, 19), (3, 0), (5, 9))

KERNELS: dict[str, Kernel] = {
    **{f"blocks by their largest, {case or 'plain'}": made(4, 19, case) for case in CASES},
    **{f"blocks of {rows} by {columns} by their largest": made(rows, columns) for rows, columns in SIZES},
}
