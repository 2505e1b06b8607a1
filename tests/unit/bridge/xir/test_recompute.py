"""Whether a tile is kept or computed again: prices by hand, a kernel that goes each way, the option that fixes it."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from tests.unit.bridge.xir.planning import places_of
from tilewright import tile
from tilewright.bridge.xir.options import PROGRAM, Use, XirOptions, element
from tilewright.bridge.xir.plan import Plan, plan
from tilewright.bridge.xir.recompute import Weighed
from tilewright.bridge.xir.records import Place
from tilewright.core.errors import PlanError
from tilewright.core.machine import GENERIC_AVX2, Level, Machine, Timings
from tilewright.ir.kernel import Kernel
from tilewright.tile import ConstView1, View1, View2, axis, coord, f32, parallel, shape, tensor_shape

# Vectors of 8; a multiply-add takes 1, a function 10, a vector from a cache 1, 2, 4, from memory 64.
ROUND = replace(GENERIC_AVX2, timings=Timings(1.0, 5.0, 10.0, (1.0, 2.0, 4.0, 64.0), 1.0))
N = 8192  # elements: 32 KiB, exactly the first cache


@tile.kernel
def twice(X: ConstView1[f32], Y: View1[f32], Z: View1[f32], *, costly: bool = True):
    e = axis("e", X.shape[0])
    for _ in parallel(shape(1)):
        x = X[coord(0), shape(e)]
        y = tile.exp(x) if costly else x + 1.0
        Y.at(coord(0), shape(e)).store(y)
        Z.at(coord(0), shape(e)).store(tile.reduce(y, e, tile.add) + y)


def captured(n: int = N, *, costly: bool = True) -> Kernel:
    return twice.capture(*[tensor_shape(n)] * 3, costly=costly)


def made(kernel: Kernel, machine: Machine = ROUND, recompute: Use | None = None) -> Plan:
    return plan(kernel, machine, XirOptions(lanes=element(), recompute=recompute), threads=1)


def place(kernel: Kernel, chosen: Plan, line: int = 5) -> Place:
    """Where the tile lives that is made on a line of the kernel (its decorator is line 0)."""
    return places_of(kernel, chosen)[line][-1]


def test_prices_by_hand() -> None:
    # 1024 vectors, read by both stores and the fold. Kept: computed once (load 1, exp 10), stored, loaded three times,
    # and the loop around it. Recomputed: three times.
    kernel = captured()
    found = place(kernel, made(kernel))
    assert found.prices == Weighed(1024 * (1 + 10 + 1 + 3 * 1) + 64, 1024 * 3 * (1 + 10), Level.L1)
    assert not found.inline
    assert found.reason == "cheaper to keep, read in 3 places"


def test_what_is_cheap_is_computed_again() -> None:
    kernel = captured(costly=False)
    found = place(kernel, made(kernel))
    assert found.inline
    assert found.prices == Weighed(1024 * (1 + 1 + 1 + 3 * 1) + 64, 1024 * 3 * (1 + 1), Level.L1)


def test_a_buffer_that_only_memory_holds_costs_more_than_a_function() -> None:
    near, far = captured(), captured(8 * (ROUND.l3_bytes // 4))
    assert [place(kernel, made(kernel)).inline for kernel in (near, far)] == [False, True]
    prices = place(far, made(far)).prices
    assert prices is not None
    assert prices.level is Level.MEMORY


def test_a_buffer_must_save_a_fifth() -> None:
    kept, equal, little = (Weighed(100.0, recompute, Level.L1).pays for recompute in (126.0, 100.0, 124.0))
    assert (kept, equal, little) == (True, False, False)


@pytest.mark.parametrize("costly", [True, False])
@pytest.mark.parametrize(("recompute", "inline"), [(Use.WHEREVER_LEGAL, True), (Use.NEVER, False)])
def test_the_option_fixes_it(recompute: Use, inline: bool, costly: bool) -> None:
    kernel = captured(costly=costly)
    found = place(kernel, made(kernel, recompute=recompute))
    assert found.inline is inline
    assert found.reason == f"asked for: recompute {recompute.value}"


def test_programs_are_vectors_too() -> None:
    kernel = captured(64)
    chosen = plan(kernel, ROUND, XirOptions(lanes=PROGRAM, block_size=32), threads=1)
    found = place(kernel, chosen)
    assert found.prices == Weighed(64 * (1 + 10 + 1 + 3 * 1) + 64, 64 * 3 * (1 + 10), Level.L1)


def test_another_option_is_refused() -> None:
    wrong: Use = "sometimes"  # pyright: ignore[reportAssignmentType]
    with pytest.raises(PlanError, match="the plan option recompute is sometimes"):
        XirOptions(recompute=wrong)


def test_what_must_be_kept_is_kept_and_what_must_not_is_not() -> None:
    @tile.kernel
    def legal(X: View1[f32], Y: View2[f32]):
        e, k, n = axis("e", 16), axis("k", 16), axis("n", 16)
        for _ in parallel(shape(1)):
            x = X[coord(0), shape(e)]
            X.at(coord(0), shape(e)).store(2.0)  # overtakes the load
            total = tile.scan(x, e, tile.add)
            a = tile.map(f32, shape(k, n), lambda p: total.at(coord(p.index(k))))
            Y.at(coord(0, 0), shape(k, n)).store(a)

    kernel = legal.capture(tensor_shape(16), tensor_shape(16, 16))
    chosen = made(kernel, recompute=Use.WHEREVER_LEGAL)
    assert place(kernel, chosen, 4).reason == "a store may overtake the load"
    assert place(kernel, chosen, 6).reason == "accumulates"
    chosen = made(kernel, recompute=Use.NEVER)
    assert not place(kernel, chosen, 7).inline


@tile.kernel
def long(X: ConstView1[f32], Y: View2[f32]):
    one, e = axis("one", 1), axis("e", 256)
    for _ in parallel(shape(1)):
        x = X[coord(0), shape(e)]
        y = tile.exp(x / 3.0)
        for step in range(20):
            y = y * x + float(step)
        for row in range(7):
            Y.at(coord(row, 0), shape(one, e)).store(y)


UNEVEN = replace(GENERIC_AVX2, timings=Timings(0.1, 0.7, 13.3, (0.03, 0.3, 0.3, 0.3), 0.4))  # sums of them round
LONG = long.capture(tensor_shape(256), tensor_shape(7, 256))


def test_prices_are_the_same_in_every_process() -> None:
    program = (
        "from tests.unit.bridge.xir.test_recompute import LONG, UNEVEN, made\n"
        "print([each.prices for each in made(LONG, UNEVEN).decisions.places.values()])\n"
    )
    texts = {
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, env=settings).stdout
        for settings in ({**os.environ, "PYTHONHASHSEED": seed} for seed in ("1", "2", "3", "4"))
    }
    assert len(texts) == 1
    assert "Weighed" in texts.pop()


def test_both_prices_are_told() -> None:
    text = made(captured()).render()
    assert "buffer 6: cheaper to keep, read in 3 places (15424 ns kept in L1, 33792 ns recomputed)" in text
    assert (
        "inline: recomputed where it is used (6208 ns kept in L1, 6144 ns recomputed)"
        in made(captured(costly=False)).render()
    )
