"""The figures of a machine: steps that do not follow noise, and the cache that holds so many bytes."""

from dataclasses import replace

import pytest

from tilewright.core.machine import GENERIC_AVX2, GENERIC_AVX512, GENERIC_NEON, Level, Machine, preferred


@pytest.mark.parametrize(
    ("figure", "step"),
    [(0.273, 0.25), (0.26, 0.25), (0.3, 0.32), (9.9, 10.0), (11.6, 12.0), (1e-3, 1e-3), (0.0, 0.0), (-1.0, 0.0)],
)
def test_a_figure_is_one_of_ten_steps_a_decade(figure: float, step: float) -> None:
    assert preferred(figure) == step
    assert preferred(step) == step


def test_what_differs_by_less_than_a_twentieth_is_mostly_one_step() -> None:
    figures = [1.05**power for power in range(-100, 100)]
    same = sum(preferred(figure) == preferred(figure * 1.05) for figure in figures)
    assert same > 0.7 * len(figures)
    assert all(abs(preferred(figure) / figure - 1) < 0.16 for figure in figures)


def test_data_lie_in_the_nearest_cache_that_holds_them() -> None:
    sizes = (GENERIC_AVX2.l1_bytes, GENERIC_AVX2.l2_bytes, GENERIC_AVX2.l3_bytes)
    assert [GENERIC_AVX2.level_of(size) for size in (0, *sizes)] == [Level.L1, Level.L1, Level.L2, Level.L3]
    assert [GENERIC_AVX2.level_of(size + 1) for size in sizes] == [Level.L2, Level.L3, Level.MEMORY]
    assert replace(GENERIC_AVX2, l3_bytes=0).level_of(sizes[1] + 1) is Level.MEMORY


@pytest.mark.parametrize("machine", [GENERIC_AVX512, GENERIC_AVX2, GENERIC_NEON])
def test_typical_figures_are_steps_and_rise_with_the_distance(machine: Machine) -> None:
    times = machine.timings
    assert list(times.levels) == sorted(times.levels)
    for figure in (times.arithmetic, times.division, times.expensive, times.gathered_lane, *times.levels):
        assert preferred(figure) == figure
    assert "L1 0.16" in str(times)
    assert str(times).endswith("(typical figures)")
