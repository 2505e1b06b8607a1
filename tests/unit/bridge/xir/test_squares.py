"""Nests that read across their lanes go in squares where that is cheaper, and say why where they cannot."""

import pytest

from tests.differential.kernels_squares import KERNELS, biased, long_expression, turn
from tests.unit.bridge.xir.planning import label_of, planned
from tilewright.bridge.xir.options import XirOptions, element
from tilewright.bridge.xir.records import NestPlan, Unturned
from tilewright.bridge.xir.retile import strips
from tilewright.core.machine import GENERIC_AVX512
from tilewright.ir.kernel import Kernel
from tilewright.tile import f32, tensor_shape


def store_nest(kernel: Kernel, options: XirOptions | None = None, *, may_alias: bool = False) -> NestPlan:
    nests = planned(kernel, options or XirOptions(lanes=element()), may_alias=may_alias).decisions.nests.values()
    return next(nest for nest in nests if nest.what == "store")


def turned(rows: int, columns: int) -> Kernel:
    return turn.capture(tensor_shape(rows, columns, dtype=f32), tensor_shape(columns, rows, dtype=f32))


def test_lanes_follow_the_store_and_squares_the_load() -> None:
    kernel = turned(64, 48)
    nest = store_nest(kernel)
    assert (label_of(kernel, nest.lane), label_of(kernel, nest.across)) == ("m", "n")
    assert len(nest.turned) == 1
    assert nest.refused is None


def test_only_what_lies_across_is_turned() -> None:
    kernel = biased.capture(tensor_shape(64, 48), tensor_shape(48, 64), tensor_shape(64), tensor_shape(48, 64))
    nest = store_nest(kernel)
    assert (label_of(kernel, nest.across), len(nest.turned)) == ("n", 1)


def test_four_axes_keep_two_for_the_squares() -> None:
    kernel = KERNELS["four axes permuted"]
    nest = store_nest(kernel)
    assert [label_of(kernel, dim) for dim in nest.axes] == ["b", "a", "d", "c"]


def test_a_plain_copy_has_nothing_to_turn() -> None:
    strided = tensor_shape(48, 64, strides=(1, 48), dtype=f32)
    nest = store_nest(turn.capture(tensor_shape(64, 48, dtype=f32), strided))
    assert (nest.across, nest.refused) == (None, None)


@pytest.mark.parametrize(
    ("kernel", "options", "reason"),
    [
        (turned(40, 2), XirOptions(lanes=element()), Unturned.EMPTY),
        (turned(64, 48), XirOptions(lanes=element(), lane_width=32), Unturned.WIDTH),
        (
            long_expression.capture(tensor_shape(1024, 1040), tensor_shape(1040, 1024), steps=30),
            XirOptions(lanes=element(), lane_width=16),
            Unturned.LONG,
        ),
    ],
)
def test_what_is_not_turned_says_why(kernel: Kernel, options: XirOptions, reason: Unturned) -> None:
    nest = store_nest(kernel, options)
    assert (nest.across, nest.refused) == (None, reason)


def test_what_long_expressions_read_across_is_turned_beforehand() -> None:
    kernel = long_expression.capture(tensor_shape(70, 50), tensor_shape(50, 70), steps=20)
    nests = planned(kernel, XirOptions(lanes=element())).decisions.nests.values()
    assert [(nest.what, nest.across is not None) for nest in nests] == [("load", True), ("store", False)]


def test_partial_squares_count_as_code_of_their_own() -> None:
    whole, ragged = (
        long_expression.capture(tensor_shape(*shape), tensor_shape(*reversed(shape)), steps=12)
        for shape in ((64, 48), (70, 50))
    )
    assert store_nest(whole).across is not None
    assert store_nest(ragged).across is None


def test_what_may_overlap_is_turned_into_a_buffer_first() -> None:
    nests = planned(turned(64, 48), XirOptions(lanes=element()), may_alias=True).decisions.nests.values()
    assert [nest.what for nest in nests if nest.across is not None] in (["load"], ["map"], ["store"])


def test_rows_of_squares_never_go_past_the_caches() -> None:
    nest = store_nest(turned(4096, 4096))
    assert nest.across is not None
    assert not nest.streaming


def test_explanations_name_the_squares() -> None:
    text = planned(turned(64, 48), XirOptions(lanes=element())).render()
    assert "store over n x m, 8 lanes along m, in squares with n that turn %" in text
    assert " (1344 operations in squares, 3456 by gathers)" in text


def test_explanations_say_why_there_are_none() -> None:
    text = planned(turned(40, 2), XirOptions(lanes=element())).render()
    assert "8 lanes along m, gathers because squares would stay too empty (110 operations in squares, 90 by g" in text


@pytest.mark.parametrize("shape", [(64, 48), (40, 2), (8, 8), (9, 9), (100, 7)])
def test_the_cheaper_of_squares_and_gathers_is_taken(shape: tuple[int, int]) -> None:
    nest = store_nest(turned(*shape))
    prices = nest.turn_prices
    assert prices is not None
    assert (nest.across is not None) == (prices.squares < prices.gathers)


def test_the_axis_across_is_cut_into_blocks_of_squares() -> None:
    (cut,) = strips(turned(1024, 1024), 1, GENERIC_AVX512)
    assert cut.block == 64
