"""How large programs are cut: a product into a grid of rows and columns, row programs into what a cache holds."""

import pytest

from examples.gallery.rows import column_sum, rms_norm, softmax
from tilewright import tile
from tilewright.bridge.xir.retile import parts_of, retile
from tilewright.core.machine import GENERIC_AVX512
from tilewright.ir.kernel import Kernel
from tilewright.tile import ConstView1, ConstView2, View2, axis, coord, f32, parallel, shape, tensor_shape


@pytest.mark.parametrize(
    ("extents", "threads", "parts"),
    [
        ([512, 512], 1, (512, 512)),
        ([512, 512], 2, (256, 512)),
        ([1000, 1000], 2, (504, 1000)),
        ([8, 4096], 2, (8, 2048)),  # no second row of register tiles
        ([64, 4096], 2, (64, 2048)),  # the larger operand is read once
        ([4096, 64], 2, (2048, 64)),
        ([1024, 1024], 16, (256, 256)),
        ([4096, 17], 16, (256, 17)),
        ([1000], 4, (256,)),
        ([5, 9], 64, (5, 9)),
    ],
)
def test_parts_share_the_work_and_read_little(extents: list[int], threads: int, parts: tuple[int, ...]) -> None:
    assert parts_of(extents, threads) == parts


@pytest.mark.parametrize("threads", [1, 2, 3, 7, 16])
def test_there_are_never_more_parts_than_threads(threads: int) -> None:
    for extents in ([1, 1], [100, 7], [1000, 1000], [33, 4097]):
        rows, columns = parts_of(extents, threads)
        assert -(-extents[0] // rows) * -(-extents[1] // columns) <= threads


AFAR = ", since rows come from afar"


def strips_of(kernel: Kernel, threads: int) -> list[str]:
    """What was stripped, in the words of the trace, without its line."""
    _, trace = retile(kernel, threads, GENERIC_AVX512)
    notes = [note for record in trace.records if record.name == "strip-axis" for note in record.notes]
    return [note.split(": axis of ")[1] for note in notes]


def rows(rows: int, columns: int) -> Kernel:
    return rms_norm.capture(tensor_shape(rows, columns), tensor_shape(columns), tensor_shape(rows, columns))


def functions(rows: int, columns: int) -> Kernel:
    return softmax.capture(*[tensor_shape(rows, columns)] * 2)


@tile.kernel
def swept(X: ConstView2[f32], Y: View2[f32], *, scan: bool):
    m, n = axis("m", X.shape[0]), axis("n", X.shape[1])
    for nest in parallel(shape(1)):
        x = X[coord(0, 0), shape(m, n)]
        if scan:
            x = tile.scan(x, n, tile.add)
        else:
            for _ in nest.serial(shape(axis("t", 3))):
                x = x * 0.5
        Y.at(coord(0, 0), shape(m, n)).store(x)


@tile.kernel
def weighed_rows(X: ConstView2[f32], w: ConstView1[f32], Y: View2[f32]):
    m, n = axis("m", X.shape[0]), axis("n", X.shape[1])
    for _ in parallel(shape(1)):
        x, row = X[coord(0, 0), shape(m, n)], w[coord(0), shape(n)]
        Y.at(coord(0, 0), shape(m, n)).store(x * tile.reduce(x, n, tile.add) / tile.reduce(row, n, tile.add))


def weighed(rows: int, columns: int) -> Kernel:
    return weighed_rows.capture(tensor_shape(rows, columns), tensor_shape(columns), tensor_shape(rows, columns))


def running(rows: int, columns: int) -> Kernel:
    return swept.capture(*[tensor_shape(rows, columns)] * 2, scan=True)


def looped(rows: int, columns: int) -> Kernel:
    return swept.capture(*[tensor_shape(rows, columns)] * 2, scan=False)


@pytest.mark.parametrize(
    ("kernel", "threads", "stripped"),
    [
        (rows(17, 257), 1, []),  # lies in the caches as it is
        (rows(128, 512), 1, ["128 stripped into 32 blocks of 4"]),  # read and written: 16 KiB of L1
        (rows(130, 512), 1, ["130 stripped into 33 blocks of 4"]),  # nothing divides it
        (rows(4096, 16), 1, ["4096 stripped into 64 blocks of 64"]),
        (rows(16, 2048), 8, ["16 stripped into 16 blocks of 1"]),
        (rows(64, 1024), 64, ["64 stripped into 64 blocks of 1"]),  # one for each thread
        (rows(3, 50257), 1, [f"3 stripped into 3 blocks of 1{AFAR}"]),
        (rows(512, 512), 1, [f"512 stripped into 512 blocks of 1{AFAR}"]),  # beyond the second cache
        (rows(8192, 128), 1, [f"8192 stripped into 8192 blocks of 1{AFAR}"]),
        (rows(8192, 127), 1, ["8192 stripped into 512 blocks of 16"]),  # short rows pay for each
        (weighed(512, 512), 1, ["512 stripped into 128 blocks of 4"]),  # the weights are added up for each program
        (functions(512, 512), 1, ["512 stripped into 128 blocks of 4"]),  # exponentials take longer than memory
        (running(512, 512), 1, ["512 stripped into 128 blocks of 4"]),  # a scan has lanes across the rows
        (looped(512, 512), 1, ["512 stripped into 64 blocks of 8"]),  # so may a loop
    ],
)
def test_rows_stay_in_the_first_cache_between_two_passes(kernel: Kernel, threads: int, stripped: list[str]) -> None:
    assert strips_of(kernel, threads) == stripped


def test_an_axis_along_memory_is_no_axis_of_rows() -> None:
    kernel = column_sum.capture(tensor_shape(1024, 600), tensor_shape(600))
    assert strips_of(kernel, 1) == ["600 stripped into 3 blocks of 256"]
