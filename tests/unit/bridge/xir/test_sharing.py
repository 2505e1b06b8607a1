"""Which panels all programs of a launch share, and why others are packed by each for itself."""

import re

import pytest

from tests.unit.bridge.xir.planning import contracts_of
from tilewright import tile
from tilewright.bridge.xir.options import Packing, Use, XirOptions, element
from tilewright.bridge.xir.plan import plan
from tilewright.bridge.xir.records import ContractPlan, Shared
from tilewright.core.machine import GENERIC_AVX512
from tilewright.ir.kernel import Kernel
from tilewright.tile import View2, axis, cdiv, coord, f32, mma, parallel, shape, tensor_shape, zeros


def asked(sharing: Use | None = Use.WHEREVER_LEGAL, packing: Packing = Packing.BOTH, **more: int) -> XirOptions:
    return XirOptions(lanes=element(), sharing=sharing, packing=packing, **more)  # type: ignore[arg-type]  # numbers


def only(kernel: Kernel, options: XirOptions, *, threads: int = 4, may_alias: bool = False) -> ContractPlan:
    (item,) = contracts_of(kernel, plan(kernel, GENERIC_AVX512, options, threads=threads, may_alias=may_alias))
    return item


@tile.kernel
def products(A: View2[f32], B: View2[f32], C: View2[f32], *, case: str = "plain", bm: int = 32, bn: int = 64):
    """A grid of products over all of k."""
    m, n, k = axis("m", bm), axis("n", bn), axis("k", A.shape[1])
    gm, gn = axis("gm", cdiv(C.shape[0], bm)), axis("gn", cdiv(C.shape[1], bn))
    for nest in parallel(shape(gm, gn)):
        row, column = nest.index(gm) * bm, nest.index(gn) * bn
        a, b = A[coord(row, 0), shape(m, k)], B[coord(0, column), shape(k, n)]
        if case == "scaled":
            b = b * 2.0
        if case == "own":
            b = b * tile.cast(f32, nest.index(gm))
        if case == "folded":
            b = b * tile.reduce(b, k, tile.maximum)
        if case == "looped":
            acc = zeros(f32, shape(m, n))
            for _ in nest.serial(shape(2)):
                acc = mma(a, b, acc)
        else:
            acc = mma(a, b, zeros(f32, shape(m, n)))
        C.at(coord(row, column), shape(m, n)).store(acc)
        if case == "written":
            B.at(coord(row, column), shape(m, n)).store(2.0)


def made(case: str, m: int = 128, n: int = 192, k: int = 64) -> Kernel:
    return products.capture(tensor_shape(m, k), tensor_shape(k, n), tensor_shape(m, n), case=case)


@pytest.mark.parametrize("case", ["plain", "scaled"])
def test_each_operand_has_as_many_parts_as_blocks(case: str) -> None:
    item = only(made(case), asked())
    assert isinstance(item.a_shared, Shared)
    assert isinstance(item.b_shared, Shared)
    assert (item.a_shared.axes, item.a_shared.parts) == ((0,), 4)
    assert (item.b_shared.axes, item.b_shared.parts) == ((1,), 3)
    assert item.b_shared.panels == -(-64 // item.b_shared.width)


def test_one_operand_in_panels_is_the_only_one_that_is_shared() -> None:
    item = only(made("plain"), asked(packing=Packing.ONE))
    assert item.a_shared is None
    assert isinstance(item.b_shared, Shared)


def test_what_is_read_in_place_is_no_question() -> None:
    item = only(made("plain"), asked(packing=Packing.IN_PLACE))
    assert (item.a_shared, item.b_shared) == (None, None)


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ("own", "each program has columns of its own"),
        ("folded", "each program keeps it in a buffer"),
        ("written", r"line \d+ writes what it reads"),
        ("looped", "a loop stands around the product"),
    ],
)
def test_what_cannot_be_shared_says_why(case: str, why: str) -> None:
    assert re.fullmatch(why, str(only(made(case), asked()).b_shared))


def test_arguments_that_may_overlap_are_packed_by_each_program() -> None:
    assert only(made("plain"), asked(), may_alias=True).b_shared == "arguments may overlap"
    decided = plan(made("plain"), GENERIC_AVX512, asked(), threads=4).decisions
    assert {(0, 2), (1, 2)} <= decided.disjoint


def test_blocks_of_rows_must_not_cut_panels() -> None:
    item = only(made("plain"), asked(row_block=13))
    assert re.fullmatch(r"blocks of 13 rows cut panels of \d+", str(item.a_shared))
    assert isinstance(item.b_shared, Shared)


def test_memory_is_bounded() -> None:
    item = only(made("plain"), asked(max_shared_bytes=40_000))
    assert isinstance(item.a_shared, Shared), "32768 bytes"
    assert re.fullmatch(r"they take \d+ bytes, and 7232 are left of max_shared_bytes", str(item.b_shared))


def test_never_is_never() -> None:
    assert only(made("plain"), asked(Use.NEVER)).b_shared == "none are asked for"


def test_the_figures_decide_by_threads_and_size() -> None:
    large = made("plain", m=1024, n=1024, k=1024)
    assert isinstance(only(large, asked(None), threads=4).b_shared, Shared)
    small = only(made("plain", m=64, n=64, k=16), asked(None), threads=4)
    assert small.b_shared == "not cheaper"


def test_sharing_is_a_way_among_others_and_told_with_its_price() -> None:
    kernel = made("plain", m=1024, n=1024, k=1024)
    text = plan(kernel, GENERIC_AVX512, asked(None), threads=4).render()
    assert re.search(
        r"the cheapest of \d+ ways: panels that a launch before packs for all programs \((A and )?B\)", text
    )
    assert re.search(r"not panels of both operands, .*: \d+ ns, \d+ more for copies", text)
    assert re.search(r" \+ waiting \d+ \+ copies ", text)


def test_one_thread_shares_what_it_would_pack_again() -> None:
    one = made("plain", m=32, n=64, k=64)
    assert only(one, asked(None), threads=1).b_shared == "each program has columns of its own"
    many = only(made("plain", m=1024, n=1024, k=1024), asked(None), threads=1)
    assert isinstance(many.b_shared, Shared), "32 programs pack the same columns"
