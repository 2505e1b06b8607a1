"""Axes of the same elements become one, and keep their names for each reason the pass knows."""

import pytest

from tests.differential.kernels_unified import KERNELS, made
from tests.unit.interp.hand import Hand, View, space
from tests.unit.passes.tiling import applied, same_meaning
from tilewright.core.dtypes import f32
from tilewright.ir.attrs import Policy
from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.access import LoadOp
from tilewright.ir.ops.elementwise import SqrtOp
from tilewright.passes.dissolve_loops import DissolveLoops
from tilewright.passes.erase_dead_code import EraseDeadCode
from tilewright.passes.fold_constants import FoldConstants
from tilewright.passes.merge_equal_values import MergeEqualValues
from tilewright.passes.unify_axes import UnifyAxes


def loads(kernel: Kernel) -> int:
    return sum(isinstance(op, LoadOp) for op in kernel.op.walk())


def test_sweeps_over_the_same_elements_load_them_once() -> None:
    after, notes = applied(made(), UnifyAxes(), MergeEqualValues())
    assert notes.count("has the axes of line") == 2
    assert (loads(made()), loads(after)) == (3, 1)
    assert same_meaning(made(), after)


def test_several_axes_become_one_each() -> None:
    after, notes = applied(made("more axes"), UnifyAxes(), MergeEqualValues())
    assert "of 2, 19" in notes
    assert loads(after) == 1
    assert same_meaning(made("more axes"), after)


def test_dissolved_loops_compute_together_what_both_need() -> None:
    kernel = KERNELS["roots in loops"]
    after, _ = applied(kernel, DissolveLoops(), FoldConstants(), EraseDeadCode(), UnifyAxes(), MergeEqualValues())
    assert len([op for op in after.op.walk() if isinstance(op, SqrtOp)]) == 1
    assert same_meaning(kernel, after)


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_of_any_form_keep_their_meaning(name: str) -> None:
    after, _ = applied(KERNELS[name], UnifyAxes(), MergeEqualValues())
    assert same_meaning(KERNELS[name], after)


def ranked() -> Kernel:
    """How many elements are larger, for each: one runs through all of them inside the other."""
    h = Hand(x=View(f32, (6,)), y=View(f32, (6,)))
    with h.parallel(space(p=1)):
        zero = h.index(0)
        first, second = h.load(h.x, [zero], space(c=6)), h.load(h.x, [zero], space(d=6))
        with h.map(f32, space(c=6)) as each:
            own = h.extract(first, *each.indices)
            with h.reduce(space(d=6), h.const(0), policy=Policy.FOLD_LEFT) as fold:
                larger = h.do("gt", h.extract(second, *fold.indices), own)
                more = h.do("add", fold.carries[0], h.const(1))
                fold.yields(h.do("select", larger, more, fold.carries[0]))
            each.yields(fold.results[0])
        h.store(h.y, [zero], each.results[0])
    return h.kernel()


def mapped() -> Kernel:
    """A map whose points lie along both."""
    h = Hand(x=View(f32, (6,)), y=View(f32, (6, 6)))
    with h.parallel(space(p=1)):
        zero = h.index(0)
        first, second = h.load(h.x, [zero], space(c=6)), h.load(h.x, [zero], space(d=6))
        with h.map(f32, space(c=6, d=6)) as each:
            i, j = each.indices
            each.yields(h.do("sub", h.extract(first, i), h.extract(second, j)))
        h.store(h.y, [zero, zero], each.results[0])
    return h.kernel()


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (made("written between"), "may write it in between"),
        (made("brought together"), "brings both axes together"),
        (made("a loop along one"), "loops along one of the axes"),
        (KERNELS["a tile and its transpose"], "its axes have those names in another order"),
        (ranked(), "runs along one axis inside the other"),
        (mapped(), "brings both axes together"),
    ],
    ids=("written", "product", "loop", "transpose", "inside", "map"),
)
def test_axes_stay_apart_and_the_pass_says_why(kernel: Kernel, reason: str) -> None:
    after, notes = applied(kernel, UnifyAxes(), MergeEqualValues())
    assert "stays apart: " in notes
    assert reason in notes
    assert loads(after) >= 2
    assert same_meaning(kernel, after)


def test_other_elements_are_no_reason() -> None:
    kernel = made("elsewhere")
    _, notes = applied(kernel, UnifyAxes())
    assert notes.count("has the axes of line") == 1, "of the first and the third sweep"


def test_axes_of_other_lengths_are_no_reason() -> None:
    h = Hand(x=View(f32, (6,)), y=View(f32, (6,)))
    with h.parallel(space(p=1)):
        zero = h.index(0)
        h.store(h.y, [zero], h.load(h.x, [zero], space(c=6)))
        h.store(h.y, [zero], h.load(h.x, [zero], space(d=4)))
    kernel = h.kernel()
    after, notes = applied(kernel, UnifyAxes())
    assert notes == ""
    assert after.hash == kernel.hash


def test_a_load_that_is_over_is_no_reason() -> None:
    """The first one stands in a loop, and what is loaded there is gone after it."""
    h, t = Hand(x=View(f32, (6,)), y=View(f32, (6,))), space(d=6)
    with h.parallel(space(p=1)):
        with h.serial(space(k=2), h.const(0)) as loop:
            item = h.extract(h.load(h.x, [h.index(0)], space(c=6)), loop.indices[0])
            loop.yields(h.do("add", loop.carries[0], item))
        h.store(h.y, [h.index(0)], h.do("add", h.load(h.x, [h.index(0)], t), loop.results[0]))
    kernel = h.kernel()
    after, notes = applied(kernel, UnifyAxes())
    assert notes == ""
    assert after.hash == kernel.hash
