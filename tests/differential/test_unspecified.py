"""What has no specified value on the CPU is harmless: the launch ends as usual, and its neighbours are right."""

import numpy as np
import pytest

from tilewright import tile
from tilewright.core.errors import EffectError
from tilewright.interp.run import run as interpret
from tilewright.tile import (
    ConstView1,
    View1,
    axis,
    coord,
    f32,
    i32,
    i64,
    parallel,
    shape,
    tensor_shape,
    trunc_div,
    trunc_mod,
)


@tile.kernel
def quotients(X: ConstView1[i32], Y: ConstView1[i32], A: View1[i32], B: View1[i32], C: View1[i32], D: View1[i32]):
    e = axis("e", X.shape[0])
    for _ in parallel(shape(1)):
        x, y = X[coord(0), shape(e)], Y[coord(0), shape(e)]
        A.at(coord(0), shape(e)).store(x // y)
        B.at(coord(0), shape(e)).store(x % y)
        C.at(coord(0), shape(e)).store(trunc_div(x, y))
        D.at(coord(0), shape(e)).store(trunc_mod(x, y))


@pytest.mark.parametrize("count", [1, 37])
def test_an_integer_division_by_zero_never_traps(count: int) -> None:
    x, y = np.arange(-9, count - 9, dtype=np.int32), np.resize(np.asarray([3, 0, -2, 0, -1], np.int32), count)
    x[0], y[0] = np.iinfo(np.int32).min, 0 if count == 1 else -1
    results = [np.zeros(count, np.int32) for _ in range(4)]
    quotients(x, y, *results)
    kept = (y != 0) & (x != x.min())
    for result, right in zip(results[:2], (np.floor_divide, np.remainder), strict=True):
        assert (result[kept] == right(x[kept], y[kept])).all()
    assert (results[3][kept] == np.fmod(x[kept], y[kept])).all()
    with pytest.raises(EffectError, match="TW343"):
        interpret(quotients.capture(*[tensor_shape(count)] * 6), [x, y, *results])


@tile.kernel
def picked(X: ConstView1[f32], I: ConstView1[i64], Y: View1[f32]):
    """One element of a tile for every index; the tile stands in scratch memory, or is read where it is used."""
    e, n = axis("e", X.shape[0]), axis("n", I.shape[0])
    for _ in parallel(shape(1)):
        x, at = X[coord(0), shape(e)] * 2.0, I[coord(0), shape(n)]
        chosen = tile.map(f32, shape(n), lambda p: x.at(coord(at.at(coord(p.index(n))))))
        Y.at(coord(0), shape(n)).store(chosen)


@pytest.mark.parametrize("far", [8, -1, 1 << 40, -(1 << 40), np.iinfo(np.int64).max, np.iinfo(np.int64).min])
def test_an_extract_outside_reads_no_foreign_memory(far: int) -> None:
    x, at = np.arange(8, dtype=np.float32), np.asarray([0, far, 7, far, 3], np.int64)
    y = np.zeros(5, np.float32)
    picked(x, at, y)
    assert y[[0, 2, 4]].tolist() == [0, 14, 6]
    with pytest.raises(EffectError, match="TW340"):
        interpret(picked.capture(*(tensor_shape(n) for n in (8, 5, 5))), [x, at, y])
