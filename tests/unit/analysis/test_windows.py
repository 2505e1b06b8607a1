"""Which tiles are windows of another one, and how their dimensions walk over it."""

from collections.abc import Callable

import pytest

from tilewright import tile
from tilewright.analysis.windows import Window, window_of
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.tile import Axis, ConstView2, Scalar, Tile, View2, axis, coord, f32, parallel, shape, tensor_shape

At = Callable[[Scalar, Scalar], tuple[Scalar | int, Scalar | int]]


@tile.kernel
def shown(X: ConstView2[f32], Y: View2[f32], *, of: Callable[[Tile, Axis, Axis], Tile]):
    e, f = axis("e", X.shape[0]), axis("f", X.shape[1])
    p, q = axis("p", Y.shape[0]), axis("q", Y.shape[1])
    for _ in parallel(shape(1)):
        Y.at(coord(0, 0), shape(p, q)).store(of(X[coord(0, 0), shape(e, f)], p, q))


def seen(at: At) -> Callable[[Tile, Axis, Axis], Tile]:
    """The tile whose element (i, j) lies at at(i, j)."""
    return lambda x, p, q: tile.reindex(x, shape(p, q), lambda nest: coord(*at(nest.index(p), nest.index(q))))


def window(of: Callable[[Tile, Axis, Axis], Tile]) -> Window:
    """Of a result of 3 by 4 that is made from a load of 8 by 9."""
    kernel = shown.capture(tensor_shape(8, 9), tensor_shape(3, 4), of=of)
    (store,) = (op for op in kernel.op.walk() if isinstance(op, StoreOp))
    return window_of(store.value)


def walks(at: At) -> list[tuple[int, list[int]]]:
    found = window(seen(at))
    assert isinstance(found.tile.owner, LoadOp)
    return [(walk.start, list(walk.steps.values())) for walk in found.walks]


EVEN: list[tuple[At, list[tuple[int, list[int]]]]] = [
    (lambda i, j: (i, j), [(0, [1]), (0, [1])]),
    (lambda i, j: (j, i), [(0, [1]), (0, [1])]),
    (lambda i, j: (i + j * 1, 5), [(0, [1, 1]), (5, [])]),
    (lambda i, j: (i * 3 + 1, j * 2), [(1, [3]), (0, [2])]),
]
OTHERS: list[At] = [
    lambda i, j: (7 - i, j),  # backwards
    lambda i, j: (i * 4, j),  # up to 8, one too far
    lambda i, j: (i + j - 1, j),  # from -1
    lambda i, j: (i // 2, j),  # not even
    lambda i, j: (i * j, j),
]


@pytest.mark.parametrize(("at", "expected"), EVEN)
def test_even_walks_are_windows(at: At, expected: list[tuple[int, list[int]]]) -> None:
    assert walks(at) == expected


def test_strides_of_a_window_are_those_of_its_walks() -> None:
    found = window(seen(lambda i, j: (i * 2 + j, j * 2 + 1)))
    p, q = found.walks[0].steps
    assert (found.start((100, 1)), found.stride(p, (100, 1)), found.stride(q, (100, 1))) == (1, 200, 102)
    assert found.axis_along(p) is None
    assert found.axis_along(q) is None


def test_windows_of_windows_show_the_first_tile() -> None:
    def twice(x: Tile, p: Axis, q: Axis) -> Tile:
        once = seen(lambda i, j: (j + 1, i))(x, axis("r", 6), axis("s", 7))
        return seen(lambda i, j: (i, j * 2))(once, p, q)

    found = window(twice)
    assert isinstance(found.tile.owner, LoadOp)
    assert [(walk.start, list(walk.steps.values())) for walk in found.walks] == [(1, [2]), (0, [1])]


@pytest.mark.parametrize("at", OTHERS)
def test_other_walks_are_tiles_of_their_own(at: At) -> None:
    assert not isinstance(window(seen(at)).tile.owner, LoadOp)


def test_what_computes_is_no_window() -> None:
    doubled = window(lambda x, p, q: seen(lambda i, j: (i, j))(x, p, q) * 2.0)
    assert not isinstance(doubled.tile.owner, LoadOp)
