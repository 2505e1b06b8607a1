"""Iterations without guards get a loop of their own, and stay where they are for each reason the pass knows."""

import pytest

from examples.gallery.attention import attention
from tests.differential.kernels_splits import made
from tests.unit.interp.hand import Hand, View, space
from tests.unit.passes.tiling import applied, same_meaning
from tilewright import tile
from tilewright.analysis.access import is_inside
from tilewright.bridge.xir.options import Use, XirOptions, element
from tilewright.bridge.xir.plan import plan
from tilewright.bridge.xir.records import Fill
from tilewright.bridge.xir.retile import retile
from tilewright.core.machine import GENERIC_AVX512
from tilewright.ir.attrs import Policy
from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.access import LoadOp
from tilewright.ir.ops.elementwise import LtOp
from tilewright.ir.ops.regions import CarryingOp, ReduceOp, SerialOp
from tilewright.ir.rewrite import TilePass
from tilewright.passes.decide_comparisons import DecideComparisons
from tilewright.passes.erase_dead_code import EraseDeadCode
from tilewright.passes.split_loops import SplitLoops
from tilewright.tile import ConstView2, View2, axis, cdiv, coord, f32, parallel, shape, tensor_shape

ALWAYS = SplitLoops(least=0)


def trips(kernel: Kernel) -> list[int]:
    return [op.space.extents[0] for op in kernel.op.walk() if isinstance(op, CarryingOp)]


def test_full_blocks_are_read_without_guards() -> None:
    after, notes = applied(made(), ALWAYS)
    assert "serial of 3 is cut before 2, for the guards of line" in notes
    full, rest = [op for op in after.op.walk() if isinstance(op, SerialOp)]
    assert trips(after) == [2, 1]
    assert all(is_inside(op) for op in full.walk() if isinstance(op, LoadOp))
    assert not any(is_inside(op) for op in rest.walk() if isinstance(op, LoadOp))
    assert list(rest.inits) == list(full.results)
    assert same_meaning(made(), after)


@pytest.mark.parametrize(
    ("case", "parts"),
    [
        ("backwards", [1, 2]),
        ("filled", [2, 1]),
        ("by point", [2, 1]),
        ("skips", [2, 1]),
        ("stored inside", [2, 1]),
        ("in place", [2, 1]),
        ("two loops", [2, 1, 2, 1]),
        ("a loop inside", [2, 2, 1, 1, 2, 1]),
    ],
)
def test_a_loop_of_any_form_keeps_its_meaning(case: str, parts: list[int]) -> None:
    after, _ = applied(made(case), ALWAYS)
    assert trips(after) == parts
    assert same_meaning(made(case), after)


@pytest.mark.parametrize("depth", [0, 1, 4, 5, 7, 8, 9])
def test_any_number_of_iterations_keeps_its_meaning(depth: int) -> None:
    after, _ = applied(made("by point", depth), ALWAYS)
    assert trips(after) == ([depth // 4, 1] if depth % 4 and depth > 4 else [-(-depth // 4)])
    assert same_meaning(made("by point", depth), after)


def test_comparisons_are_decided_in_the_full_blocks() -> None:
    after, _ = applied(made("by point"), ALWAYS, DecideComparisons())
    full, rest = [op for op in after.op.walk() if isinstance(op, SerialOp)]
    assert not [op for op in full.walk() if isinstance(op, LtOp)]
    assert [op for op in rest.walk() if isinstance(op, LtOp)]
    assert same_meaning(made("by point"), after)


def test_the_domain_is_cut_along_its_first_axis_only() -> None:
    """The last column of every row is guarded: no prefix of the iterations does without."""
    h, t = Hand(x=View(f32, (8, 7)), y=View(f32, (2, 2))), space(a=2, b=2)
    with h.parallel(space(p=1)), h.serial(space(r=4, c=4), h.const(0, over=t)) as loop:
        row, column = (h.do("mul", index, h.index(2)) for index in loop.indices)
        x = h.load(h.x, [row, column], space(a=2, b=2))
        y = h.load(h.x, [column, row], space(b=2, e=2))
        loop.yields(h.do("add", loop.carries[0], x))
        h.store(h.y, [h.index(0), h.index(0)], h.mma(x, y, h.const(0, over=space(a=2, e=2))))
    kernel = h.kernel()
    after, notes = applied(kernel, ALWAYS)
    assert "serial of 4 is cut before 3" in notes
    assert [op.space.extents for op in after.op.walk() if isinstance(op, SerialOp)] == [(3, 4), (1, 4)]
    assert same_meaning(kernel, after)


def folded(policy: Policy) -> Kernel:
    h, t = Hand(x=View(f32, (7, 7)), y=View(f32, (2, 2))), space(a=2, b=2)
    with h.parallel(space(p=1)):
        with h.reduce(space(r=4), h.const(0, over=t), policy=policy) as loop:
            at = h.do("mul", loop.indices[0], h.index(2))
            x, y = h.load(h.x, [h.index(0), at], space(a=2, k=2)), h.load(h.x, [at, h.index(0)], space(k=2, b=2))
            loop.yields(h.do("add", loop.carries[0], h.mma(x, y, h.const(0, over=t))))
        h.store(h.y, [h.index(0), h.index(0)], loop.results[0])
    return h.kernel()


@pytest.mark.parametrize("policy", [Policy.UNORDERED_TREE, Policy.ORDERED_TREE, Policy.FOLD_RIGHT])
def test_a_fold_with_an_order_of_its_own_is_one_fold(policy: Policy) -> None:
    after, notes = applied(folded(policy), ALWAYS)
    assert f"reduce stays whole: it folds as {policy.value}, and two folds would group otherwise" in notes
    assert trips(after) == [4]


def test_a_fold_from_the_left_goes_on_where_it_stopped() -> None:
    after, _ = applied(folded(Policy.FOLD_LEFT), ALWAYS)
    assert [op.space.extents[0] for op in after.op.walk() if isinstance(op, ReduceOp)] == [3, 1]
    assert same_meaning(folded(Policy.FOLD_LEFT), after)


@tile.kernel
def moved(A: ConstView2[f32], C: View2[f32]):
    m, k = axis("m", 2), axis("k", 4)
    for nest in parallel(shape(axis("g", 1))):
        for step in nest.serial(shape(axis("s", cdiv(A.shape[1], 4)))):
            C.at(coord(0, step.index() * 4), shape(m, k)).store(A[coord(0, step.index() * 4), shape(m, k)])


def test_a_loop_without_a_product_waits_for_memory_anyway() -> None:
    after, notes = applied(moved.capture(tensor_shape(2, 11), tensor_shape(2, 11)), ALWAYS)
    assert "serial stays whole: it holds no product, whose operands could be read in place" in notes
    assert trips(after) == [3]


def test_little_work_is_not_compiled_twice() -> None:
    asked = 2 * 2 * (2 * 4 + 4 * 3)  # root instances, full iterations, elements of a and b
    after, notes = applied(made(), SplitLoops(least=asked + 1))
    assert f"serial stays whole: {asked} questions are no reason to compile it twice" in notes
    assert trips(after) == [3]
    assert trips(applied(made(), SplitLoops(least=asked))[0]) == [2, 1]


@pytest.mark.parametrize(("case", "depth"), [("", 12), ("both ends", 9)])
def test_nothing_is_said_where_no_iteration_differs(case: str, depth: int) -> None:
    """Nothing is guarded, or everything needs a guard at one end of it."""
    after, notes = applied(made(case, depth), ALWAYS)
    assert notes == ""
    assert trips(after) == [3]


def test_loops_that_compute_an_element_or_have_no_axis_are_none() -> None:
    h, m = Hand(x=View(f32, (4,)), y=View(f32, (4,))), space(m=4)
    with h.parallel(space(p=1)):
        with h.map(f32, m) as made_of:
            with h.reduce(space(k=3), h.const(0), policy=Policy.FOLD_LEFT) as loop:
                test = h.do("lt", loop.indices[0], h.index(2))
                loop.yields(h.do("select", test, h.const(1), loop.carries[0]))
            made_of.yields(loop.results[0])
        with h.serial(space(), h.load(h.x, [h.index(1)], m)) as once:
            once.yields(h.do("add", once.carries[0], made_of.results[0]))
        h.store(h.y, [h.index(0)], once.results[0])
    kernel = h.kernel()
    after, notes = applied(kernel, ALWAYS)
    assert notes == ""
    assert after.hash == kernel.hash


@pytest.mark.parametrize(
    ("passes", "fusion", "wanted"),
    [
        ((), None, [(False, True)]),
        ((ALWAYS,), None, [(True, False), (False, True)]),
        ((), Use.NEVER, [(False, False)]),
        ((ALWAYS,), Use.NEVER, [(True, False), (False, False)]),
    ],
)
def test_a_guarded_operand_is_padded_in_the_rest_only(
    passes: tuple[TilePass, ...], fusion: Use | None, wanted: list[tuple[bool, bool]]
) -> None:
    """Whether B is read in place, and whether it is padded where its panels are packed; else it is in a buffer."""
    after, _ = applied(made("filled"), *passes, EraseDeadCode())
    options = XirOptions(lanes=element(), fusion=fusion)
    contracts = plan(after, GENERIC_AVX512, options, threads=1).decisions.contracts
    found = [contracts[position] for position in sorted(contracts)]
    assert [(item.b_direct, isinstance(item.b_fill, Fill)) for item in found] == wanted


def ragged_attention() -> Kernel:
    rows = tensor_shape(8, 500, 64)
    return attention.capture(rows, rows, rows, rows, bq=64, bk=64)


def test_attention_reads_keys_and_values_of_full_blocks_in_place() -> None:
    cut, trace = retile(ragged_attention(), 1, GENERIC_AVX512)
    assert any("pipeline of 8 is cut before 7" in note for record in trace.records for note in record.notes)
    contracts = plan(cut, GENERIC_AVX512, threads=1).decisions.contracts
    scores, output, *rest = (contracts[position] for position in sorted(contracts))
    assert scores.a_direct
    assert output.b_direct
    assert [(item.a_direct, item.b_direct) for item in rest] == [(True, False), (False, False)]


def test_a_long_body_is_not_compiled_twice() -> None:
    after, notes = applied(made(), SplitLoops(least=0, most=10))
    assert "operations are too many to be compiled twice" in notes
    assert trips(after) == [3]
