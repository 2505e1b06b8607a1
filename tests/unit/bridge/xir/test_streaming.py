"""A store goes past the caches where its line then takes less time, and a plan tells both prices."""

from dataclasses import replace

import pytest

from tests.unit.bridge.xir.planning import FIGURES, WIDE
from tilewright import tile
from tilewright.bridge.xir.options import Use, XirOptions, element
from tilewright.bridge.xir.plan import plan
from tilewright.bridge.xir.records import Caching, NestPlan
from tilewright.core.machine import Machine
from tilewright.tile import ConstView2, View2, axis, coord, f32, parallel, shape, tensor_shape

LARGE = 1 << 23  # elements that fill the last cache


@tile.kernel
def scaled(X: ConstView2[f32], Y: View2[f32], *, function: str):
    rows, m, n = axis("rows", X.shape[0]), axis("m", 1), axis("n", X.shape[1])
    for nest in parallel(shape(rows)):
        x = X[coord(nest.index(), 0), shape(m, n)]
        y = x * 2.0
        if function == "exp":
            y = tile.exp(y)
        if function == "many":
            y = tile.erf(tile.exp(tile.exp(y)))
        if function == "in place":
            y = y + Y[coord(nest.index(), 0), shape(m, n)]
        Y.at(coord(nest.index(), 0), shape(m, n)).store(y)


def stored(columns: int = 1024, function: str = "", machine: Machine = WIDE, elements: int = LARGE) -> NestPlan:
    kernel = scaled.capture(*[tensor_shape(elements // columns, columns)] * 2, function=function)
    (nest,) = plan(kernel, machine, XirOptions(lanes=element()), threads=1).decisions.nests.values()
    return nest


def memory(nanoseconds: float) -> Machine:
    return replace(WIDE, timings=replace(FIGURES, levels=(*FIGURES.levels[:3], nanoseconds)))


def test_what_fills_the_last_cache_goes_past_it() -> None:
    nest = stored()
    assert nest.caching is Caching.PAST
    assert nest.store_prices is not None
    assert nest.store_prices.past < nest.store_prices.through


@pytest.mark.parametrize(
    ("columns", "function", "elements", "why"),
    [
        (1024, "", LARGE // 2, Caching.SMALL),  # beside as much that is read
        (64, "", LARGE, Caching.SHORT),  # four vectors: as much for the ends as is spared
        (1024, "many", LARGE, Caching.ARITHMETIC),
        (1024, "in place", LARGE, Caching.READ),
    ],
)
def test_other_stores_do_not(columns: int, function: str, elements: int, why: Caching) -> None:
    assert stored(columns, function, elements=elements).caching is why


def test_one_function_of_an_element_is_computed_while_lines_come_and_go() -> None:
    assert stored(function="exp").caching is Caching.PAST
    assert stored(function="exp", machine=memory(1.5)).caching is Caching.ARITHMETIC


def test_the_slower_memory_is_the_more_is_spared() -> None:
    prices = [stored(machine=memory(figure)).store_prices for figure in (2.0, 4.0, 8.0)]
    spared = [each.through - each.past for each in prices if each is not None]
    assert spared == sorted(spared)
    assert len(spared) == 3
    assert min(spared) > 0


def test_a_last_cache_as_slow_as_memory_is_no_reason_to_stay() -> None:
    """Where carrying a line twice through it takes longer than writing it once to memory."""
    slow = replace(WIDE, timings=replace(FIGURES, levels=(0.32, 0.5, 2.4, 2.5)))
    assert stored(elements=LARGE // 2, machine=slow).caching is Caching.PAST


def test_a_plan_tells_both_prices() -> None:
    kernel = scaled.capture(*[tensor_shape(LARGE // 1024, 1024)] * 2, function="")
    text = plan(kernel, WIDE, XirOptions(lanes=element()), threads=1).render()
    (line,) = (line for line in text.splitlines() if ": store over" in line)
    assert line.endswith(", past the caches (2.58 ns a vector past the caches, 3.75 through them)")
    never = plan(kernel, WIDE, XirOptions(lanes=element(), streaming=Use.NEVER), threads=1).render()
    assert "through the caches because that is asked for" in never
