"""Which operands of a product are computed into panels, and why others are not."""

import re

import pytest

from tests.unit.bridge.xir.planning import contracts_of, planned
from tilewright import tile
from tilewright.bridge.xir.options import Packing, Use, XirOptions, element
from tilewright.bridge.xir.records import ContractPlan, Fill
from tilewright.ir.kernel import Kernel
from tilewright.tile import (
    ConstView1,
    ConstView2,
    View2,
    axis,
    coord,
    exp,
    f16,
    f32,
    maximum,
    mma,
    parallel,
    reindex,
    shape,
    tensor_shape,
    zeros,
)

ELEMENT = XirOptions(lanes=element())
ALWAYS = XirOptions(lanes=element(), fusion=Use.WHEREVER_LEGAL)


def only(kernel: Kernel, options: XirOptions = ALWAYS) -> ContractPlan:
    (item,) = contracts_of(kernel, planned(kernel, options))
    return item


@tile.kernel
def products(A: View2[f32], B: ConstView2[f32], C: View2[f32], *, case: str = "scaled", trips: int = 1):
    m, n, k = axis("m", C.shape[0]), axis("n", C.shape[1]), axis("k", B.shape[0])
    for nest in parallel(shape(1)):
        a = A[coord(0, 0), shape(m, k)]
        b = B[coord(2 if case == "guarded" else 0, 0), shape(k, n)]
        if case not in ("plain", "guarded"):
            b = b * 0.5 + 1.0
        if case == "folded":
            b = b * tile.reduce(b, k, maximum)
        if case == "long":
            for factor in range(70):
                b = b * float(factor)
        if case == "shown":
            b = reindex(B[coord(0, 0), shape(k, axis("one", 1))] * 2.0, shape(k, n), lambda at: coord(at.index(k), 0))
        if case == "overtaken":
            a = a * 0.5
            A.at(coord(0, 0), shape(m, k)).store(1.0)
        acc = zeros(f32, shape(m, n))
        if trips == 1:
            acc = mma(a, b, acc)
        else:
            for _ in nest.serial(shape(trips)):
                acc = mma(a, b, acc)
        C.at(coord(0, 0), shape(m, n)).store(acc + b.at(coord(0, 0)) if case == "shared" else acc)


def made(case: str, m: int = 128, n: int = 96, k: int = 64, trips: int = 1) -> Kernel:
    return products.capture(tensor_shape(m, k), tensor_shape(k, n), tensor_shape(m, n), case=case, trips=trips)


def test_what_is_read_as_it_lies_is_no_question() -> None:
    item = only(made("plain"))
    assert (item.a_fill, item.b_fill) == (None, None)


@pytest.mark.parametrize("case", ["scaled", "guarded"])
def test_what_is_computed_or_guarded_goes_into_panels_and_no_buffer(case: str) -> None:
    assert isinstance(only(made(case)).b_fill, Fill)
    assert isinstance(only(made(case), ELEMENT).b_fill, Fill)
    assert not planned(made(case), ALWAYS).decisions.storages


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ("folded", r"line \d+ folds"),
        ("long", "it takes more than 64 operations"),
        ("shown", r"line \d+ shows elements many times"),
        ("shared", "others read it, too"),
    ],
)
def test_what_cannot_be_is_kept_and_says_why(case: str, why: str) -> None:
    assert re.fullmatch(why, str(only(made(case)).b_fill))


def test_a_load_is_not_moved_past_a_store() -> None:
    assert re.fullmatch(r"a store may overtake the load of line \d+", str(only(made("overtaken")).a_fill))


def test_sums_over_several_axes_leave_no_place_for_panels() -> None:
    @tile.kernel
    def pairs(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
        m, n, p, q = axis("m", 32), axis("n", 32), axis("p", 4), axis("q", 16)
        for _ in parallel(shape(1)):
            a = reindex(A[coord(0, 0), shape(m, axis("f", 64))], shape(m, p, q), lambda at: coord(
                at.index(m), at.index(p) * 16 + at.index(q)))  # fmt: skip
            b = reindex(B[coord(0, 0), shape(axis("f", 64), n)], shape(p, q, n), lambda at: coord(
                at.index(p) * 16 + at.index(q), at.index(n)))  # fmt: skip
            C.at(coord(0, 0), shape(m, n)).store(mma(a, b * 2.0, zeros(f32, shape(m, n))))

    item = only(pairs.capture(tensor_shape(32, 64), tensor_shape(64, 32), tensor_shape(32, 32)))
    assert item.b_fill == "sums stay in registers over several axes, so that nothing is packed"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (XirOptions(fusion=Use.NEVER), "no fusion is asked for"),
        (XirOptions(packing=Packing.IN_PLACE), "no panels of it are asked for"),
    ],
)
def test_what_the_caller_fixed_holds(options: XirOptions, why: str) -> None:
    assert only(made("scaled"), options).b_fill == why


def test_a_buffer_pays_where_panels_would_be_computed_again_and_again() -> None:
    once, often = only(made("scaled"), ELEMENT), only(made("scaled", m=8, trips=50), ELEMENT)
    assert isinstance(once.b_fill, Fill)
    assert str(often.b_fill).startswith("cheaper to keep")
    assert isinstance(only(made("scaled", m=8, trips=50)).b_fill, Fill), "asked for"


@tile.kernel
def halves(A: ConstView2[f32], B: ConstView2[f16], C: View2[f32]):
    m, n, k = axis("m", C.shape[0]), axis("n", C.shape[1]), axis("k", B.shape[0])
    for _ in parallel(shape(1)):
        a, b = A[coord(0, 0), shape(m, k)], B[coord(0, 0), shape(k, n)]
        C.at(coord(0, 0), shape(m, n)).store(mma(a, b, zeros(f32, shape(m, n))))


@pytest.mark.parametrize(("rows", "filled"), [(8, False), (512, True)])
def test_narrow_columns_are_converted_once_where_many_rows_read_them(rows: int, *, filled: bool) -> None:
    item = only(halves.capture(tensor_shape(rows, 64), tensor_shape(64, 96), tensor_shape(rows, 96)), ELEMENT)
    assert isinstance(item.b_fill, Fill) == filled
    assert item.b_direct


@tile.kernel
def weighted(A: ConstView2[f32], B: ConstView2[f32], S: ConstView1[f32], C: View2[f32]):
    m, n, k = axis("m", C.shape[0]), axis("n", C.shape[1]), axis("k", B.shape[0])
    for _ in parallel(shape(1)):
        b = B[coord(0, 0), shape(k, n)] * exp(S[coord(0), shape(k)])
        C.at(coord(0, 0), shape(m, n)).store(mma(A[coord(0, 0), shape(m, k)], b, zeros(f32, shape(m, n))))


def test_a_function_of_fewer_axes_has_a_buffer_and_is_not_computed_for_every_vector() -> None:
    kernel = weighted.capture(tensor_shape(128, 64), tensor_shape(64, 96), tensor_shape(64), tensor_shape(128, 96))
    assert isinstance(only(kernel, ELEMENT).b_fill, Fill)
    (storage,) = planned(kernel, ELEMENT).decisions.storages.values()
    assert storage.extents == (64,)


@tile.kernel
def turned(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
    m, n, k = axis("m", C.shape[0]), axis("n", C.shape[1]), axis("k", B.shape[1])
    for _ in parallel(shape(1)):
        b = B[coord(0, 0), shape(n, k)] * 2.0
        C.at(coord(0, 0), shape(m, n)).store(mma(A[coord(0, 0), shape(m, k)], b, zeros(f32, shape(m, n))))


@pytest.mark.parametrize(("depth", "squares"), [(64, True), (7, False)])
def test_what_lies_across_is_turned_in_squares_where_one_fits(depth: int, *, squares: bool) -> None:
    kernel = turned.capture(tensor_shape(128, depth), tensor_shape(96, depth), tensor_shape(128, 96))
    fill = only(kernel).b_fill
    assert isinstance(fill, Fill)
    assert fill.turned == squares
