"""Conditions that indices decide are gone, and those that they do not are kept."""

import pytest

from tests.unit.interp.hand import Hand, View, space
from tests.unit.passes.tiling import applied, same_meaning
from tilewright import tile
from tilewright.core.dtypes import boolean, f32
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.convert import SelectOp
from tilewright.ir.ops.elementwise import CompareOp
from tilewright.ir.ops.tiles import ConstantOp
from tilewright.ir.types import BOOL
from tilewright.passes.decide_comparisons import DecideComparisons
from tilewright.tile import ConstView1, View1, axis, cdiv, coord, iota, parallel, shape, tensor_shape, where


@tile.kernel
def guarded(A: ConstView1[f32], C: View1[f32], *, block: int, case: str):
    e = axis("e", block)
    for nest in parallel(shape(cdiv(A.shape[0], block))):
        at = nest.index() * block
        place = iota(e) + at
        x = A[coord(at), shape(e)]
        seen = place < A.shape[0]
        if case == "both":
            seen = seen & (place >= 0)
        if case == "either":
            seen = (x > 0.0) | seen
        if case == "never":
            seen = (x > 0.0) & (place > 100)
        C.at(coord(at), shape(e)).store(where(seen, x, -1.0))


@pytest.mark.parametrize("case", ["", "both", "either", "never"])
def test_a_condition_that_always_or_never_holds_is_gone(case: str) -> None:
    kernel = guarded.capture(tensor_shape(12), tensor_shape(12), block=4, case=case)
    after, notes = applied(kernel, DecideComparisons())
    assert ("never holds" if case == "never" else "always holds") in notes
    assert not [op for op in after.op.walk() if isinstance(op, SelectOp)] or case == "never"
    assert same_meaning(kernel, after)


def test_a_condition_of_the_last_block_is_kept() -> None:
    kernel = guarded.capture(tensor_shape(11), tensor_shape(11), block=4, case="both")
    after, _ = applied(kernel, DecideComparisons())
    assert len([op for op in after.op.walk() if isinstance(op, CompareOp)]) == 1
    assert same_meaning(kernel, after)


@pytest.mark.parametrize(
    ("name", "limit", "decided"),
    [
        ("lt", 4, True), ("lt", 3, None), ("lt", 0, False), ("le", 3, True), ("le", 2, None), ("le", -1, False),
        ("gt", -1, True), ("gt", 0, None), ("gt", 3, False), ("ge", 0, True), ("ge", 1, None), ("ge", 4, False),
    ],
)  # fmt: skip
def test_the_ends_of_an_interval_decide(name: str, limit: int, decided: bool | None) -> None:
    h = Hand(x=View(boolean, (4,)))
    with h.parallel(space(p=4)) as p:
        h.set(h.x, [p.indices[0]], h.do(name, p.indices[0], h.index(limit)))
    kernel = h.kernel()
    after, _ = applied(kernel, DecideComparisons())
    constants = [op.value.data for op in after.op.walk() if isinstance(op, ConstantOp) and op.result.type == BOOL]
    assert constants == ([] if decided is None else [int(decided)])
    assert same_meaning(kernel, after)


@tile.kernel
def under_an_arm(A: ConstView1[f32], C: View1[f32], *, limit: int):
    e = axis("e", 4)
    for nest in parallel(shape(3)):
        at = nest.index() * 4
        if at < limit:
            C.at(coord(at), shape(e)).store(A[coord(at), shape(e)] + 1.0)


@pytest.mark.parametrize(("limit", "masks"), [(12, 0), (8, 2)])
def test_an_arm_that_is_always_taken_masks_nothing(limit: int, masks: int) -> None:
    kernel = under_an_arm.capture(tensor_shape(12), tensor_shape(12), limit=limit)
    after, _ = applied(kernel, DecideComparisons())
    assert sum(op.mask is not None for op in after.op.walk() if isinstance(op, LoadOp | StoreOp)) == masks
    assert same_meaning(kernel, after)
