"""Which products run with lanes along k, and that they are right however their operands lie."""

import numpy as np
import pytest

from tests.unit.bridge.xir.planning import contracts_of
from tilewright import tile
from tilewright.bridge.xir.options import XirOptions, element
from tilewright.bridge.xir.plan import Plan, plan
from tilewright.bridge.xir.records import ContractPlan
from tilewright.core.machine import GENERIC_AVX512
from tilewright.tile import View2, axis, coord, exp, f32, full, mma, parallel, shape, tensor_shape, zeros


@tile.kernel
def product(A: View2[f32], B: View2[f32], C: View2[f32], *, case: str = "plain"):
    """C = A B, where B may be stored transposed, computed, or followed by something."""
    m, n, k = axis("m", A.shape[0]), axis("n", C.shape[1]), axis("k", A.shape[1])
    for _ in parallel(shape(axis("one", 1))):
        a = A[coord(0, 0), shape(m, k)]
        b = B[coord(0, 0), shape(n, k)] if case == "transposed" else B[coord(0, 0), shape(k, n)]
        a = a * 2.0 if case == "scaled rows" else a
        b = b * 2.0 if case == "scaled" else b
        acc = full(f32, shape(m, n), 3.0) if case == "from three" else zeros(f32, shape(m, n))
        acc = mma(a, b, acc, reassociate=case != "in order")
        C.at(coord(0, 0), shape(m, n)).store(exp(acc * 0.01) if case == "followed" else acc)


def shapes(m: int, n: int, k: int, case: str) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    return (m, k), (n, k) if case == "transposed" else (k, n), (m, n)


def planned(
    m: int, n: int, k: int, case: str = "plain", options: XirOptions | None = None
) -> tuple[ContractPlan, Plan]:
    kernel = product.capture(*(tensor_shape(*each) for each in shapes(m, n, k, case)), case=case)
    made = plan(kernel, GENERIC_AVX512, options, threads=1)
    (item,) = contracts_of(kernel, made)
    return item, made


@pytest.mark.parametrize(
    ("m", "n", "k", "case"),
    [
        (1000, 1, 1000, "plain"),  # a matrix times a vector
        (1000, 3, 1000, "plain"),  # a few: the small operand is turned
        (1000, 3, 1000, "scaled"),
        (8, 500, 4000, "transposed"),  # the weights of a layer are the operand with the rows
        (1, 1, 1000, "plain"),
    ],
)
def test_long_rows_are_not_turned(m: int, n: int, k: int, case: str) -> None:
    item, made = planned(m, n, k, case)
    assert item.along == 16
    assert item.swapped == (m < n)
    assert f"{item.tile[0]} x {item.tile[1]} sums, 16 lanes along k" in made.render()


@pytest.mark.parametrize(
    ("m", "n", "k", "case", "options"),
    [
        (512, 512, 512, "plain", None),  # columns are cheap lanes
        (500, 64, 500, "transposed", None),  # turning is paid for by many columns
        (1000, 1, 1000, "in order", None),
        (1000, 1, 63, "plain", None),  # each sum would be folded
        (1000, 2, 1000, "scaled rows", None),  # rows would lie in a buffer
        (1000, 1, 1000, "plain", XirOptions(register_tile=(4, 1))),
        (1000, 1, 1000, "plain", XirOptions(lanes=element("m"))),
    ],
)
def test_others_keep_lanes_along_rows_or_columns(m: int, n: int, k: int, case: str, options: XirOptions | None) -> None:
    assert not planned(m, n, k, case, options)[0].along


@pytest.mark.parametrize("case", ["plain", "transposed", "scaled", "from three", "followed"])
@pytest.mark.parametrize(("m", "n", "k"), [(37, 1, 203), (37, 3, 203), (2, 37, 203), (1, 1, 203), (19, 5, 64)])
def test_the_sums_are_right(m: int, n: int, k: int, case: str) -> None:
    rng = np.random.default_rng(5)
    a, b, c = (rng.integers(-9, 9, each).astype(np.float32) for each in shapes(m, n, k, case))
    expected = a @ (b.T if case == "transposed" else b) * (2 if case == "scaled" else 1) + 3 * (case == "from three")
    product(a, b, c, case=case)
    if case == "followed":
        assert np.allclose(c, np.exp(expected * np.float32(0.01)), rtol=1e-6)
    else:
        assert np.array_equal(c, expected)
