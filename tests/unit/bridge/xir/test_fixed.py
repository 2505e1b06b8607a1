"""What the caller fixes about products, squares, stores and tiles holds exactly, is refused, or has no object."""

from dataclasses import replace
from typing import Any

import pytest

from examples.gallery.products import gemm_f16
from examples.gallery.rows import rms_norm, softmax
from tests.unit.bridge.xir.planning import contracts_of, planned
from tests.unit.bridge.xir.test_contraction import made, windowed
from tests.unit.bridge.xir.test_joining import two_stores
from tests.unit.bridge.xir.test_squares import store_nest, turned
from tilewright import tile
from tilewright.bridge.xir.options import PROGRAM, RETILING, Packing, Use, XirOptions, element
from tilewright.bridge.xir.plan import plan
from tilewright.bridge.xir.records import Caching, ContractPlan, Unturned
from tilewright.bridge.xir.retile import retile
from tilewright.core.errors import PlanError
from tilewright.core.machine import GENERIC_AVX2, GENERIC_AVX512
from tilewright.ir.kernel import Kernel
from tilewright.tile import ConstView2, View2, axis, coord, f32, mma, parallel, shape, tensor_shape, zeros

SMALL = made(20, 24, 30)
LARGE = made(512, 2048, 1024)
HALVES = gemm_f16.capture(
    tensor_shape(20, 30, dtype=tile.f16), tensor_shape(30, 24, dtype=tile.f16), tensor_shape(20, 24)
)


def only(kernel: Kernel, **options: Any) -> ContractPlan:
    (item,) = contracts_of(kernel, planned(kernel, XirOptions(**options)))
    return item


# ---- products


@pytest.mark.parametrize("packing", Packing)
@pytest.mark.parametrize("kernel", [SMALL, LARGE, HALVES], ids=["small", "large", "halves"])
def test_a_product_is_packed_as_asked_for(kernel: Kernel, packing: Packing) -> None:
    assert only(kernel, packing=packing).blocking[2] == packing.value


def test_what_is_large_is_packed_where_nothing_is_asked_for() -> None:
    """So that forcing either way is another plan."""
    assert [only(kernel).blocking[2] > 0 for kernel in (SMALL, LARGE)] == [False, True]


def test_what_lies_across_the_lanes_is_read_there_when_asked_for() -> None:
    item = only(made(20, 24, 30, b_turned=True), packing=Packing.IN_PLACE)
    assert (item.b_direct, item.blocking[2]) == (True, 0)


def test_blocks_have_the_length_that_is_asked_for() -> None:
    assert only(SMALL, k_block=7, row_block=5).blocking == (7, 5, 0)


def test_what_is_no_longer_than_a_block_is_one() -> None:
    assert only(SMALL, k_block=30).blocking[0] == 0
    assert only(SMALL, k_block=29).blocking[0] == 29


def test_blocks_take_the_sums_of_windows_out_of_the_registers() -> None:
    kernel = windowed(32, 32)
    assert only(kernel).folds
    item = only(kernel, k_block=8)
    assert (item.folds, item.blocking[0]) == ((), 8)
    assert len(item.outer) == len(only(kernel).outer) + 1


def test_a_register_tile_is_the_one_that_is_asked_for() -> None:
    for options in ({}, {"packing": Packing.BOTH}):
        assert only(LARGE, register_tile=(3, 2), **options).tile[:2] == (3, 2)
    assert only(windowed(32, 32), register_tile=(2, 1)).tile[:2] == (2, 1)


def refusal(kernel: Kernel, **options: Any) -> str:
    with pytest.raises(PlanError) as error:
        planned(kernel, XirOptions(**options))
    assert error.value.diagnostic.code.id == "TW427"
    return error.value.diagnostic.message


def test_a_register_tile_fits_the_registers() -> None:
    assert only(SMALL, register_tile=(14, 1)).tile[:2] == (14, 1)
    assert "(15, 1) takes 17 vector registers, and generic AVX2 has 16" in refusal(SMALL, register_tile=(15, 1))


@pytest.mark.parametrize(
    "options", [{"packing": Packing.IN_PLACE}, {"k_block": 4}, {"row_block": 4}, {"register_tile": (4, 1)}], ids=str
)
def test_products_over_programs_are_plain_loops(options: dict[str, Any]) -> None:
    assert "lanes = program, but products are plain loops" in refusal(SMALL, lanes=PROGRAM, **options)
    rejected = planned(SMALL, XirOptions(**options)).rejected
    assert {str(each.lanes) for each in rejected} == {"program"}
    assert all("products are plain loops" in each.reason for each in rejected)


@tile.kernel
def added(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
    m, n, k = axis("m", C.shape[0]), axis("n", C.shape[1]), axis("k", A.shape[1])
    for _ in parallel(shape(1)):
        a, b, c = A[coord(0, 0), shape(m, k)], B[coord(0, 0), shape(k, n)], C[coord(0, 0), shape(m, n)]
        C.at(coord(0, 0), shape(m, n)).store(mma(a, b, zeros(f32, shape(m, n))) + c)


def test_sums_do_not_wait_where_something_else_is_still_read() -> None:
    kernel = added.capture(tensor_shape(20, 30), tensor_shape(30, 24), tensor_shape(20, 24))
    assert only(kernel, k_block=30).blocking[0] == 0
    assert "what follows the product reads where its sums would wait" in refusal(kernel, k_block=29)


def test_a_kernel_without_products_is_not_affected() -> None:
    kernel = softmax.capture(*[tensor_shape(20, 24)] * 2)
    options = XirOptions(packing=Packing.BOTH, k_block=3, row_block=4, register_tile=(32, 16))
    fixed, left = planned(kernel, options), planned(kernel)
    assert (fixed.chosen, fixed.decisions) == (left.chosen, left.decisions)


# ---- loops


def test_squares() -> None:
    wide, narrow = turned(64, 48), turned(40, 2)
    never, always = (XirOptions(lanes=element(), squares=use) for use in Use)
    assert store_nest(wide).across is not None
    assert (store_nest(wide, never).across, store_nest(wide, never).refused) == (None, Unturned.ASKED)
    assert store_nest(narrow).refused is Unturned.EMPTY
    assert store_nest(narrow, always).across is not None
    assert store_nest(wide, replace(always, lane_width=32)).refused is Unturned.WIDTH


def caching(rows: int, columns: int, streaming: Use | None) -> Caching | None:
    shapes = tensor_shape(rows, columns), tensor_shape(columns), tensor_shape(rows, columns)
    options = XirOptions(lanes=element(), streaming=streaming)
    cut, _ = retile(rms_norm.capture(*shapes), 1, GENERIC_AVX512)
    *_, last = plan(cut, GENERIC_AVX512, options, threads=1).decisions.nests.values()
    return last.caching


def test_stores_past_the_caches() -> None:
    assert caching(4096, 4096, None) is Caching.PAST
    assert caching(4096, 4096, Use.NEVER) is Caching.ASKED
    assert caching(40, 70, None) is Caching.SMALL
    assert caching(40, 70, Use.WHEREVER_LEGAL) is Caching.PAST


def test_where_stores_cannot_go_past_the_caches_the_plan_says_why() -> None:
    columns = tensor_shape(40, 24, strides=(1, 40))
    kernel = softmax.capture(tensor_shape(40, 24), columns)
    text = planned(kernel, XirOptions(lanes=element(), streaming=Use.WHEREVER_LEGAL)).render()
    assert "through the caches because" in text


def test_joining_and_fusion() -> None:
    stores = two_stores.capture(*[tensor_shape(64)] * 3, case="arguments")
    rows = softmax.capture(*[tensor_shape(20, 24)] * 2)
    for use in (None, Use.WHEREVER_LEGAL):
        assert planned(stores, XirOptions(lanes=element(), joining=use)).decisions.joined
        assert planned(rows, XirOptions(lanes=element(), fusion=use)).decisions.fused
    assert not planned(stores, XirOptions(lanes=element(), joining=Use.NEVER)).decisions.joined
    assert not planned(rows, XirOptions(lanes=element(), fusion=Use.NEVER)).decisions.fused


# ---- tiles


@pytest.mark.parametrize("name", RETILING)
def test_a_pass_of_retiling_is_left_out(name: str) -> None:
    kernel = softmax.capture(*[tensor_shape(5000, 24)] * 2)
    whole, part = (retile(kernel, 2, GENERIC_AVX2, without=without)[1].records for without in ((), (name,)))
    assert name in [record.name for record in whole]
    assert name not in [record.name for record in part]


# ---- what is told, and what is no choice


def test_a_plan_says_what_its_caller_set() -> None:
    text = planned(SMALL, XirOptions(packing=Packing.BOTH, k_block=3, squares=Use.NEVER)).render()
    assert "set by the caller: packing = BOTH, k_block = 3, squares = NEVER" in text
    assert "set by the caller" not in planned(SMALL).render()


@pytest.mark.parametrize(
    ("option", "bad"),
    [
        ("packing", 1),
        ("squares", True),
        ("streaming", "never"),
        ("k_block", -1),
        ("row_block", (1 << 20) + 1),
        ("register_tile", (0, 1)),
        ("register_tile", (33, 1)),
        ("register_tile", (1, 17)),
        ("without", ("fold-constants",)),
    ],
)
def test_values_that_are_no_choice_are_refused(option: str, bad: object) -> None:
    values: dict[str, Any] = {option: bad}
    with pytest.raises(PlanError, match=f"TW426.*the plan option {option}"):
        XirOptions(**values)
