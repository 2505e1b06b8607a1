"""Measured figures: one measurement for all processes, and typical ones with a reason where there can be none."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tilewright.backends.llvm import probes, timings
from tilewright.backends.llvm.machine import read_machine
from tilewright.backends.llvm.timings import kept_timings, timings_path
from tilewright.core.codes.toolchain import LLVM_NOT_LINKED
from tilewright.core.errors import ToolchainError
from tilewright.core.machine import GENERIC_AVX2, GENERIC_AVX512, Level, Machine, Timings, preferred
from tilewright.core.source import UNKNOWN

KEPT = "measured once on this machine"


class Bench:
    """Stands for the measurement: every one gives other figures."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, machine: Machine) -> Timings:
        self.count += 1
        return replace(machine.timings, arithmetic=float(self.count))


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    made = Bench()
    monkeypatch.setattr(probes, "measured", made)
    return made


def test_what_is_measured_is_kept_and_found(bench: Bench, tmp_path: Path) -> None:
    first, second = (kept_timings(GENERIC_AVX2, tmp_path / "new") for _ in range(2))
    assert first == second == replace(GENERIC_AVX2.timings, arithmetic=1.0, source=KEPT)
    assert bench.count == 1
    assert [path.suffix for path in (tmp_path / "new").iterdir()] == [".timings"]


@pytest.mark.parametrize(
    "other",
    [
        GENERIC_AVX512,
        replace(GENERIC_AVX2, cpu="another"),
        replace(GENERIC_AVX2, features_digest="another"),
        replace(GENERIC_AVX2, l3_bytes=0),
    ],
)
def test_another_processor_has_another_file(other: Machine, bench: Bench, tmp_path: Path) -> None:
    kept_timings(GENERIC_AVX2, tmp_path)
    assert kept_timings(other, tmp_path).arithmetic == bench.count == 2
    assert timings_path(replace(GENERIC_AVX2, cores=99), tmp_path) == timings_path(GENERIC_AVX2, tmp_path)


def changed(**fields: object) -> bytes:
    return json.dumps({**asdict(GENERIC_AVX2.timings), **fields}).encode()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff",
        b"[]",
        b"{}",
        changed(levels=[1.0, 2.0, 3.0]),
        changed(levels=None),
        changed(arithmetic=0.0),
        changed(expensive=float("nan")),
        changed(wake="soon"),
    ],
)
def test_a_file_without_sense_is_made_again(content: bytes, bench: Bench, tmp_path: Path) -> None:
    path = timings_path(GENERIC_AVX2, tmp_path)
    path.write_bytes(content)
    assert kept_timings(GENERIC_AVX2, tmp_path).source == KEPT
    assert json.loads(path.read_bytes())["arithmetic"] == bench.count == 1


def test_a_file_that_others_may_write_is_not_believed(bench: Bench, tmp_path: Path) -> None:
    path = timings_path(GENERIC_AVX2, tmp_path)
    path.write_bytes(changed(arithmetic=7.0))
    path.chmod(0o666)
    assert kept_timings(GENERIC_AVX2, tmp_path).arithmetic == bench.count == 1


def test_the_first_of_two_processes_decides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def slow(machine: Machine) -> Timings:
        timings_path(machine, tmp_path).write_bytes(changed(arithmetic=3.0))
        return machine.timings

    monkeypatch.setattr(probes, "measured", slow)
    assert kept_timings(GENERIC_AVX2, tmp_path).arithmetic == 3.0
    assert len(list(tmp_path.iterdir())) == 1


def test_where_nothing_can_be_kept_nothing_is_measured(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way of a folder")
    found = kept_timings(GENERIC_AVX2, tmp_path / "file" / "folder")
    why = "typical figures: the cache folder cannot be written (NotADirectoryError)"
    assert found == replace(GENERIC_AVX2.timings, source=why)
    assert bench.count == 0


@pytest.mark.parametrize(
    "error", [OSError("no memory"), ToolchainError(LLVM_NOT_LINKED.at(UNKNOWN, name="", reason="", artifact=""))]
)
def test_a_measurement_that_fails_leaves_typical_figures(
    error: Exception, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fails(machine: Machine) -> Timings:
        raise error

    monkeypatch.setattr(probes, "measured", fails)
    found = kept_timings(GENERIC_AVX2, tmp_path)
    assert found.source == f"typical figures: they could not be measured and kept ({type(error).__name__})"
    assert list(tmp_path.iterdir()) == []


def test_links_that_cannot_be_made_are_a_reason(bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuses(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(timings.os, "link", refuses)
    assert kept_timings(GENERIC_AVX2, tmp_path).source.endswith("(PermissionError)")
    assert list(tmp_path.iterdir()) == []


def test_this_machine_can_be_measured() -> None:
    machine = read_machine()
    found = probes.measured(machine)
    figures = (found.arithmetic, found.division, found.expensive, found.gathered_lane, *found.levels)
    assert all(figure > 0 and preferred(figure) == figure for figure in figures)
    assert list(found.levels) == sorted(found.levels)
    assert (found.task, found.wake) == (machine.timings.task, machine.timings.wake)


@pytest.mark.parametrize(
    ("sizes", "measured"),
    [
        ((1 << 15, 1 << 20, 1 << 25), [Level.L1, Level.L2, Level.L3, Level.MEMORY]),
        ((1 << 15, 1 << 20, 1 << 28), [Level.L1, Level.L2, Level.L3]),  # more than it is worth to allocate
        ((1 << 15, 1 << 20, 0), [Level.L1, Level.L2, Level.MEMORY]),
    ],
)
def test_each_level_is_read_where_it_is(sizes: tuple[int, int, int], measured: list[Level]) -> None:
    l1, l2, l3 = sizes
    machine = replace(GENERIC_AVX2, l1_bytes=l1, l2_bytes=l2, l3_bytes=l3)
    read: Callable[[Machine], dict[Level, int]] = probes.sizes_of
    assert list(read(machine)) == measured
    for level, size in read(machine).items():
        assert machine.level_of(size) is level
