"""The last block gets a text of its own, and shares that of the others for each reason the pass knows."""

from dataclasses import replace

import pytest

from tests.differential.kernels_peels import KERNELS, made
from tests.unit.interp.hand import Hand, View, space
from tests.unit.passes.tiling import applied, same_meaning
from tilewright import tile
from tilewright.analysis.access import is_inside
from tilewright.core.dtypes import f32
from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.regions import SerialOp, WhenOp
from tilewright.passes.peel_blocks import PeelBlocks
from tilewright.tile import ConstView2, View2, axis, cdiv, coord, parallel, shape, tensor_shape

ALWAYS = PeelBlocks(block=0, least=0, most=100)


def arms(kernel: Kernel) -> list[SerialOp]:
    return [op for op in kernel.op.walk() if isinstance(op, SerialOp) and op.when is not None]


def test_full_blocks_have_no_guards() -> None:
    after, notes = applied(made(4, 19), ALWAYS)
    assert "root axis 1 has a text of its own for the last block, for the guards of line" in notes
    full, last = arms(after)
    assert all(is_inside(op) for op in full.walk() if isinstance(op, LoadOp | StoreOp))
    assert not any(is_inside(op) for op in last.walk() if isinstance(op, LoadOp | StoreOp))
    assert same_meaning(made(4, 19), after)


@pytest.mark.parametrize("name", KERNELS)
def test_programs_of_any_form_keep_their_meaning(name: str) -> None:
    after, _ = applied(KERNELS[name], ALWAYS)
    assert same_meaning(KERNELS[name], after)


def test_the_axis_that_spares_most_is_peeled() -> None:
    """Three blocks of rows and five of columns, the last of both partial."""
    after, notes = applied(made(5, 39), ALWAYS)
    assert notes.count("has a text of its own") == 1
    assert "root axis 1 has a text of its own" in notes
    assert len(arms(after)) == 2
    assert same_meaning(made(5, 39), after)


@pytest.mark.parametrize(
    ("rows", "columns", "case"),
    [(4, 16, ""), (4, 7, ""), (0, 19, ""), (4, 19, "before the view"), (4, 19, "a block too many")],
)
def test_nothing_is_said_where_the_last_block_is_not_the_only_one(rows: int, columns: int, case: str) -> None:
    """No block is partial; there is one block; there is none; the first is guarded, too; so is the last but one."""
    kernel = made(rows, columns, case)
    after, notes = applied(kernel, ALWAYS)
    assert notes == ""
    assert after.hash == kernel.hash


@tile.kernel
def doubled(X: ConstView2[f32], Y: View2[f32]):
    m, n = axis("m", 2), axis("n", 8)
    gm, gn = axis("gm", cdiv(X.shape[0], 2)), axis("gn", cdiv(X.shape[1], 8))
    for nest in parallel(shape(gm, gn)):
        here = coord(nest.index(gm) * 2, nest.index(gn) * 8)
        Y.at(here, shape(m, n)).store(X[here, shape(m, n)] * 2.0)


def test_what_a_limit_cuts_off_needs_no_text() -> None:
    kernel = doubled.capture(tensor_shape(3, 19), tensor_shape(3, 19))
    after, notes = applied(kernel, ALWAYS)
    assert notes == ""
    assert after.hash == kernel.hash


def test_data_placed_by_hand_has_one_place() -> None:
    h, m = Hand(x=View(f32, (7,)), y=View(f32, (7,))), space(m=4)
    with h.parallel(space(p=2)) as p:
        at = h.do("mul", p.indices[0], h.index(4))
        memory, state = h.memory(f32, m)
        held = h.memory_store(memory, state, h.load(h.x, [at], m))
        h.store(h.y, [h.do("sub", h.index(3), at)], h.memory_load(memory, held))
    kernel = h.kernel()
    after, notes = applied(kernel, ALWAYS)
    assert "root axis 0 has one text for all blocks: it places data by hand" in notes
    assert after.hash == kernel.hash


ASKED = 2 * 2 * 8  # elements of a block, loaded and stored


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"block": ASKED + 1}, f"a program asks {ASKED} questions, fewer than a branch is worth"),
        ({"least": 2 * 2 * ASKED + 1}, f"{2 * 2 * ASKED} questions are no reason to compile it twice"),
        ({"most": 10}, "operations are too many to be compiled twice"),
    ],
    ids=("small blocks", "few blocks", "much text"),
)
def test_what_costs_more_than_it_spares_is_left(asked: dict[str, int], reason: str) -> None:
    after, notes = applied(made(4, 19), replace(ALWAYS, **asked))
    assert "root axis 1 has one text for all blocks: " in notes
    assert reason in notes
    assert not [op for op in after.op.walk() if isinstance(op, WhenOp)]
    assert arms(applied(made(4, 19), replace(ALWAYS, block=ASKED, least=2 * 2 * ASKED))[0])
