"""Functions that make and rearrange tiles, and contractions."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.unit.lang.shapes import all_names, body, every, names, only
from tilewright import tile
from tilewright.core.errors import EffectError, KernelError, TileTypeError
from tilewright.interp import run
from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.tiles import ConstantOp, MapOp, MmaOp
from tilewright.ir.types import dtype_of, element_of, is_tile
from tilewright.tile import (
    ConstView2,
    Tile,
    View2,
    axis,
    coord,
    f16,
    f32,
    full,
    i32,
    iota,
    matmul,
    mma,
    parallel,
    scalar,
    shape,
    tensor_shape,
    zeros,
)  # fmt: skip

Work = Callable[[Any], Any]


def untyped(value: Any) -> Any:
    """A value that the type checker would refuse."""
    return value


A = np.arange(12, dtype=np.float32).reshape(3, 4)


def works(*each: Work) -> list[Work]:
    """The cases of a parametrised test, typed."""
    return list(each)


def coded(*each: tuple[Work, str]) -> list[tuple[Work, str]]:
    """The same, with the error of each."""
    return list(each)


def capture(work: Work, out: tuple[int, int] = (3, 4)) -> Kernel:
    """Stores `work(a)`, where `a` is a tile [m:3, n:4], in an output of shape `out`."""

    @tile.kernel
    def one(X: ConstView2[f32], Y: View2[f32]):
        for _ in parallel(shape(axis("g", 1))):
            made = work(X[coord(0, 0), shape(axis("m", 3), axis("n", 4))])
            if made is not None:
                Y.at(coord(0, 0), made.shape).store(made)

    return one.capture(tensor_shape(3, 4), tensor_shape(*out))


def result(work: Work, out: tuple[int, int]) -> Any:
    Y = np.full(out, np.nan, np.float32)
    run(capture(work, out), [A, Y])
    return Y


def test_a_full_tile_is_one_constant() -> None:
    kernel = capture(lambda a: full(f32, a.shape, 2.5))
    assert [op.value.data for op in every(kernel, ConstantOp) if is_tile(op.result)] == [0x40200000]
    assert "map" not in all_names(kernel)


def test_a_full_tile_of_a_scalar_is_a_map() -> None:
    assert (result(lambda a: full(f32, a.shape, a.at(coord(1, 2))), (3, 4)) == A[1, 2]).all()


def test_positions_along_an_axis() -> None:
    def work(a: Tile) -> Tile:
        m, n = a.shape.axes
        return tile.cast(f32, iota(m) * 10 + iota(n))

    assert np.array_equal(result(work, (3, 4)), np.add.outer(np.arange(3) * 10, np.arange(4)))


def test_a_map_computes_one_element_at_a_time() -> None:
    def work(a: Tile) -> Tile:
        m, n = a.shape.axes
        return tile.map(f32, shape(n, m), lambda e: a.at(coord(e.index(m), e.index(n))) * 2.0)

    assert np.array_equal(result(work, (4, 3)), 2 * A.T)


def test_a_map_decorates_a_body_of_several_statements() -> None:
    @tile.kernel
    def prefix(X: ConstView2[f32], Y: View2[f32]):
        m, n = axis("m", 3), axis("n", 4)
        for _ in parallel(shape(axis("g", 1))):
            x = X[coord(0, 0), shape(m, n)]

            @tile.map(f32, shape(m, axis("one", 1)))
            def sums(e: tile.Nest) -> tile.Scalar:
                total = scalar(f32, 0.0)
                for step in e.reduce(shape(n)):
                    total = total + x.at(step)
                return total if e.index(m) > 0 else total * -1.0

            Y.at(coord(0, 0), sums.shape).store(sums)

    Y = np.zeros((3, 1), np.float32)
    run(prefix.capture(tensor_shape(3, 4), tensor_shape(3, 1)), [A, Y])
    assert Y[:, 0].tolist() == [-6.0, 22.0, 38.0]


@pytest.mark.parametrize("spell", [Tile.at, tile.extract])
def test_an_element_at_the_coordinates_of_a_nest(spell: Callable[[Tile, tile.Nest], Any]) -> None:
    assert np.array_equal(result(lambda a: tile.map(f32, a.shape, lambda e: spell(a, e)), (3, 4)), A)


def test_a_map_is_pure() -> None:
    @tile.kernel
    def loading(X: ConstView2[f32]):
        for _ in parallel(shape(axis("g", 1))):
            tile.map(f32, shape(4), lambda e: X[0, e.index()].load())

    with pytest.raises(EffectError, match="TW352"):
        loading.capture(tensor_shape(4, 4))


@pytest.mark.parametrize("made", [True, 1.5, *works(lambda a: a, lambda a: a.at(coord(0, 0))), None, "x"])
def test_the_body_of_a_map_gives_a_scalar_of_its_type(made: Any) -> None:
    with pytest.raises(TileTypeError):
        capture(lambda a: tile.map(i32, shape(2), lambda e: untyped(made(a) if callable(made) else made)))


def test_relabel_renames_by_position() -> None:
    def work(a: Tile) -> Tile:
        renamed = tile.relabel(a, shape(axis("x", 3), axis("y", 4)))
        assert tile.relabel(renamed, renamed.shape).ssa is renamed.ssa
        return renamed

    assert np.array_equal(result(work, (3, 4)), A)


def test_transpose_reshape_and_reindex() -> None:
    def transpose(a: Tile) -> Tile:
        m, n = a.shape.axes
        return tile.transpose(a, n, m)

    def rotate(a: Tile) -> Tile:
        m, n = a.shape.axes
        return tile.reindex(a, shape(m, n), lambda e: coord(e.index(m), (e.index(n) + 1) % 4))

    assert np.array_equal(result(transpose, (4, 3)), A.T)
    assert np.array_equal(result(lambda a: tile.reshape(a, shape(2, 6)), (2, 6)), A.reshape(2, 6))
    assert np.array_equal(result(lambda a: tile.reshape(a, shape(12, 1)), (12, 1)), A.reshape(12, 1))
    assert np.array_equal(result(rotate, (3, 4)), np.roll(A, -1, axis=1))


def test_broadcast_repeats_missing_and_single_axes() -> None:
    def work(a: Tile) -> Tile:
        m, n = a.shape.axes
        top = tile.reduce(a, m, tile.maximum)
        return tile.broadcast_to(top, shape(m, n))

    assert np.array_equal(result(work, (3, 4)), np.tile(A[2], (3, 1)))


@pytest.mark.parametrize(
    "work",
    works(
        lambda a: tile.relabel(a, shape(4, 3)),
        lambda a: tile.broadcast_to(a, shape(3, 4)),
        lambda a: tile.reshape(a, shape(5)),
        lambda a: tile.transpose(a, a.shape.axes[0]),
        lambda a: tile.transpose(a, axis("q", 3), a.shape.axes[1]),
    ),
)
def test_shapes_that_do_not_fit_are_refused(work: Work) -> None:
    with pytest.raises(TileTypeError, match=r"TW21[46]"):
        capture(work)


def test_named_axes_contract_without_maps() -> None:
    def work(a: Tile) -> Tile:
        m, n = a.shape.axes
        other = axis("p", 3)
        return mma(a, tile.relabel(a, shape(other, n)), zeros(f32, shape(m, other)))

    assert np.array_equal(result(work, (3, 3)), A @ A.T)


def test_axes_by_position_contract_through_two_maps() -> None:
    @tile.kernel
    def positional(X: ConstView2[f32], W: ConstView2[f32], Y: View2[f32]):
        for _ in parallel(shape(axis("g", 1))):
            x, w = X[coord(0, 0), shape(3, 4)], W[coord(0, 0), shape(4, 5)]
            Y.at(coord(0, 0), shape(3, 5)).store(mma(x, w, zeros(f32, shape(3, 5))))

    kernel = positional.capture(tensor_shape(3, 4), tensor_shape(4, 5), tensor_shape(3, 5))
    assert len(every(kernel, MapOp)) == 2
    W, Y = np.ones((4, 5), np.float32), np.zeros((3, 5), np.float32)
    run(kernel, [A, W, Y])
    assert np.array_equal(Y, A @ W)


def test_the_policy_of_an_mma_is_on_the_operation() -> None:
    def work(a: Tile) -> None:
        m, n = a.shape.axes
        other = axis("p", 3)
        mma(a, tile.relabel(a, shape(other, n)), zeros(f32, shape(m, other)), reassociate=False, atoms=True)

    op = only(capture(work), MmaOp)
    assert (bool(op.reassociate.value.data), bool(op.atoms.value.data)) == (False, True)


def test_batched_contractions_go_by_identity() -> None:
    def work(a: Tile) -> Tile:
        m, n = a.shape.axes
        k = axis("k", 2)
        cube = a + zeros(f32, shape(k))
        return mma(cube, zeros(f32, shape(m, k, n)) + 1.0, zeros(f32, shape(m, n)))

    assert np.array_equal(result(work, (3, 4)), 2 * A)


@pytest.mark.parametrize(
    ("work", "code"),
    coded(
        (lambda a: mma(a, a, zeros(f32, a.shape)), "TW212"),
        (lambda a: mma(a, a, zeros(f16, a.shape)), "TW213"),
        (lambda a: mma(a, a, zeros(i32, a.shape)), "TW213"),
        (lambda a: mma(a, a, untyped(0.0)), "TW207"),
        (lambda a: matmul(zeros(f32, shape(3, 4)), zeros(f32, shape(5, 3))), "TW203"),
        (lambda a: matmul(zeros(f32, shape(3)), a), "TW212"),
        (lambda a: mma(zeros(f32, shape(3, 4)), zeros(f32, shape(5, 6)), zeros(f32, shape(3, 6))), "TW203"),
        (lambda a: mma(zeros(f32, shape(3, 4)), zeros(f32, shape(4, 6)), zeros(f32, shape(3, 5))), "TW212"),
    ),
)
def test_contractions_that_are_refused(work: Work, code: str) -> None:
    with pytest.raises(TileTypeError, match=code):
        capture(work)


def test_a_product_of_matrices_by_name_and_by_position() -> None:
    def named(a: Tile) -> Tile:
        _, n = a.shape.axes
        return a @ zeros(f32, shape(n, axis("p", 2)))

    def positional(a: Tile) -> Tile:
        x = tile.relabel(a, shape(3, 4))
        return x @ tile.reshape(a, shape(4, 3))

    assert np.array_equal(result(named, (3, 2)), np.zeros((3, 2)))
    assert np.array_equal(result(positional, (3, 3)), A @ A.reshape(4, 3))
    with pytest.raises(TileTypeError, match="last in b"):
        capture(lambda a: a @ tile.transpose(a, *reversed(a.shape.axes)))


def test_a_product_of_half_tiles_is_carried_wide() -> None:
    kernel = capture(lambda a: (a.astype(f16) @ zeros(f16, shape(a.shape.axes[1], axis("p", 4)))).astype(f32))
    assert dtype_of(element_of(only(kernel, MmaOp).c)) is f32
    assert all_names(kernel).count("cast") == 3


def test_a_scalar_starts_where_it_is_told() -> None:
    kernel = capture(lambda a: (scalar(f32, 1.5), None)[1])
    assert names(body(kernel.op)) == ["parallel", "yield"]
    with pytest.raises(KernelError):
        capture(lambda a: scalar(i32, 1.5))
