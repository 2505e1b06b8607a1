"""What a computation reads at its own point: through arithmetic and plain maps, and nothing else."""

from collections.abc import Callable

from tilewright import tile
from tilewright.analysis.pointwise import point_reads
from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.tile import (
    Axis,
    ConstView1,
    ConstView2,
    Tile,
    View2,
    add,
    axis,
    coord,
    f32,
    parallel,
    shape,
    tensor_shape,
)

Made = Callable[[Tile, Tile, Axis, Axis], Tile]


@tile.kernel
def made(X: ConstView2[f32], P: ConstView1[f32], Y: View2[f32], *, of: Made):
    m, n = axis("m", X.shape[0]), axis("n", X.shape[1])
    for _ in parallel(shape(1)):
        Y.at(coord(0, 0), shape(n, m)).store(of(X[coord(0, 0), shape(m, n)], P[coord(0), shape(m)], n, m))


def reads(of: Made) -> dict[str, list[tuple[str | None, ...]]]:
    """For each argument that is read, the labels of the dimensions that move the axes of its tile."""
    kernel = made.capture(tensor_shape(4, 6), tensor_shape(4), tensor_shape(6, 4), of=of)
    (store,) = (op for op in kernel.op.walk() if isinstance(op, StoreOp))
    found: dict[str, list[tuple[str | None, ...]]] = {}
    for read in point_reads(store.value, lambda _: False):
        if isinstance(read.value.owner, LoadOp):
            labels = tuple(None if dim is None else kernel.label(dim) for dim in read.dims)
            found.setdefault(argument_of(kernel, read.value.owner), []).append(labels)
    return found


def argument_of(kernel: Kernel, load: LoadOp) -> str:
    return kernel.parameters[kernel.op.body.block.args.index(load.view)].name


def swapped(x: Tile, n: Axis, m: Axis) -> Tile:
    return tile.reindex(x, shape(n, m), lambda at: coord(at.index(m), at.index(n)))


def test_arithmetic_and_plain_maps_pass_points_on() -> None:
    assert reads(lambda x, p, n, m: swapped(x * 2.0, n, m) + p) == {"X": [("m", "n")], "P": [("m",)]}


def test_a_tile_read_twice_at_its_point_is_one_read() -> None:
    assert reads(lambda x, p, n, m: swapped(x, n, m) + swapped(x * p, n, m))["X"] == [("m", "n")]


def test_another_point_is_no_read_of_this_one() -> None:
    mirrored: Made = lambda x, _, n, m: tile.reindex(  # noqa: E731
        x, shape(n, m), lambda at: coord(3 - at.index(m), at.index(n))
    )
    assert reads(mirrored) == {}


def test_what_a_fold_reads_is_not_read_at_the_point() -> None:
    assert reads(lambda x, p, n, m: swapped(x, n, m) + tile.reduce(x, n, add) * p) == {"X": [("m", "n")], "P": [("m",)]}
