"""What random kernels found, in short. Each failed once."""

from typing import Any

import numpy as np

from tests.random.running import compiled
from tilewright import interp, tile
from tilewright.numerics.arrays import numpy_dtype
from tilewright.tile import Use, XirOptions, bf16, element

ROW_OF_17 = """from tilewright import tile
from tilewright.tile import *

@tile.kernel
def program(X: ConstView2[bf16], Y: View3[bf16]):
    one, r, c = axis("one", 1), axis("r", 4), axis("c", 17)
    for nest in parallel(shape(axis("g", 2))):
        Y.at(coord(nest.index(), 0, 0), shape(one, r, c)).store(X[coord(0, 0), shape(r, c)] + 3.0)
"""
LOOP_IN_A_FOLD = """from tilewright import tile
from tilewright.tile import *

@tile.kernel
def program(X: ConstView1[i32], Y: View1[f32]):
    c = axis("c", 4)
    for nest in parallel(shape(axis("g", 2))):
        total = scalar(f32, 0.0)
        for fold in nest.reduce(shape(axis("k", 2)), policy=tile.fold_left):
            for step in fold.serial(shape(axis("s", 3))):
                X.at(coord(step.index()), shape(c)).load(fill=0, where=iota(c) != 3)
            total = total + 1.0
        Y[nest.index()].store(total)
"""

BLOCKS_OF_20 = """from tilewright import tile
from tilewright.tile import *

@tile.kernel
def program(X: ConstView2[f16], Z: View1[f32], Y: View3[f32]):
    r, one, c = axis("r", 20), axis("one", 1), axis("c", 9)
    for nest in parallel(shape(axis("g", 5))):
        n = nest.index()
        product = mma(X[coord(0, n), shape(r, c)], X[coord(0, 0), shape(c, one)], zeros(f32, shape(r, one)))
        Z.at(coord(n * 20), shape(r)).store(Z[coord(n * 20), shape(r)] * 0.5 + 1.0)
        Y.at(coord(n, 0, 0), shape(axis("o", 1), r, one)).store(product)
"""

COLUMN_TO_COLUMN = """from tilewright import tile
from tilewright.tile import *

@tile.kernel
def program(X: ConstView2[f32], Y: View2[f32]):
    one, r = axis("one", 1), axis("r", 17)
    for nest in parallel(shape(axis("g", 3))):
        n = nest.index()
        Y.at(coord(0, n), shape(r, one)).store(X[coord(0, 0), shape(r, one)])
"""


def agree(source: str, *arrays: Any, xir: XirOptions | None = None) -> list[Any]:
    """Both routes on these arrays; the last element of each is followed by others, which stay."""
    kernel = compiled(source, f"<{source[-40:]}>").with_options(xir=xir)
    ir = kernel.capture(*(tile.tensor_shape(*each.shape) for each in arrays))
    here = [each.copy() for each in arrays]
    interp.run(ir, here)
    memories = [np.concatenate([each.reshape(-1), np.full(8, 5, each.dtype)]) for each in arrays]
    there = [memory[:-8].reshape(each.shape) for memory, each in zip(memories, arrays, strict=True)]
    kernel(*there)
    assert all((memory[-8:] == 5).all() for memory in memories)
    assert [each.tobytes() for each in here] == [each.tobytes() for each in there]
    return there


def test_the_last_lane_of_a_narrow_row_writes_one_element() -> None:
    """LLVM stored the wide lane that was narrowed, and so one element more."""
    agree(ROW_OF_17, np.ones((4, 17), numpy_dtype(bf16)), np.zeros((2, 4, 17), numpy_dtype(bf16)))


def test_a_loop_without_results_inside_a_fold() -> None:
    """The interpreter took all iterations of the fold at once, and the tiles of the loop with them."""
    _, y = agree(LOOP_IN_A_FOLD, np.arange(6, dtype="i4"), np.zeros(2, "f4"))
    assert y.tolist() == [2, 2]


def test_a_program_cut_into_blocks_writes_nothing_of_the_next_program() -> None:
    """A last block of 16 that holds 4 elements of 20 updated 12 elements of the next program a second time."""
    z = np.arange(100, dtype=np.float32)
    agree(BLOCKS_OF_20, np.ones((20, 14), np.float16), z, np.zeros((5, 20, 1), np.float32))


def test_one_column_goes_in_no_squares() -> None:
    """A vector along an axis of one element was loaded as one element, and turned as if it were whole."""
    squares = XirOptions(lanes=element(), squares=Use.WHEREVER_LEGAL)
    x = np.arange(34, dtype=np.float32).reshape(17, 2)
    _, y = agree(COLUMN_TO_COLUMN, x, np.zeros((17, 1), np.float32), xir=squares)
    assert y.tolist() == x[:, :1].tolist()
