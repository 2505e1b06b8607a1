"""Equal loads are one where nothing writes meanwhile; elsewhere they are snapshots of different moments."""

import pytest

from tests.unit.interp.hand import Hand, View, space
from tests.unit.passes.tiling import applied, same_meaning
from tilewright.core.dtypes import f32
from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.access import LoadElementOp, LoadOp
from tilewright.passes.merge_equal_values import MergeEqualValues

M = space(m=4)


def twice(case: str) -> Kernel:
    """Two loads of x, the second in a loop; a store where the case says, and one at the end."""
    h = Hand(x=View(f32, (4,)), y=View(f32, (4,)), z=View(f32, (4,)))
    with h.parallel(space(p=1)):
        at = h.index(0)
        first = h.load(h.x, [at], M)
        if case == "written before":
            h.store(h.x, [at], h.const(1, over=M))
        with h.serial(space(k=2), h.const(0, over=M)) as loop:
            if case == "written inside":
                h.store(h.x, [at], loop.carries[0])
            second = h.load(h.x, [at], M)
            if case == "written after":
                h.store(h.x, [at], h.do("add", second, h.const(1, over=M)))
            if case == "another view":
                h.update(h.y, [at], h.const(1))
            loop.yields(h.do("add", loop.carries[0], h.do("add", first, second)))
        h.store(h.z, [at], loop.results[0])
    return h.kernel()


@pytest.mark.parametrize(
    ("case", "left"),
    [("", 1), ("written before", 2), ("written inside", 2), ("written after", 2), ("another view", 2)],
)
def test_loads_are_one_where_nothing_writes_meanwhile(case: str, left: int) -> None:
    kernel = twice(case)
    after, _ = applied(kernel, MergeEqualValues())
    assert sum(isinstance(op, LoadOp) for op in after.op.walk()) == left
    assert same_meaning(kernel, after)


def test_elements_too_and_what_a_loop_loads_is_gone_after_it() -> None:
    h = Hand(x=View(f32, (4,)), y=View(f32, (4,)))
    with h.parallel(space(p=1)):
        at = h.index(0)
        with h.serial(space(k=2), h.const(0)) as loop:
            loop.yields(h.do("add", loop.carries[0], h.do("add", h.get(h.x, at), h.get(h.x, at))))
        h.set(h.y, [at], h.do("add", loop.results[0], h.get(h.x, at)))
    kernel = h.kernel()
    after, _ = applied(kernel, MergeEqualValues())
    assert sum(isinstance(op, LoadElementOp) for op in after.op.walk()) == 2
    assert same_meaning(kernel, after)
