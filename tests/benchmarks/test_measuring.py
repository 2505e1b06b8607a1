"""Figures from samples that a script gives instead of a machine."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pytest

from benchmarks.code import Code
from benchmarks.measuring import Effort, is_measured_at, measure
from benchmarks.record import Measured
from benchmarks.rows import BY_NAME, Trial
from benchmarks.session import Session, WorkerError

EFFORT = Effort(rounds=5, sample_seconds=1e-3, peer_seconds=1.0)
RACE = BY_NAME["gemm NN 128x128x128"]  # 2 * 128**3 operations, and a part of the peak to reach
PEAK_FLOPS = 4.0 * 128**3


class Scripted:
    """A worker whose contestants always take the same time."""

    def __init__(self, times: Mapping[str, float], asked: list[str], who: str) -> None:
        self.times, self.asked, self.who = times, asked, who

    def ask(self, request: str, **given: Any) -> dict[str, Any]:
        names: Sequence[str] = given.get("names", ())
        match request:
            case "open":
                here = [name for name in names if name in self.times]
                absent = {name: "not installed" for name in names if name not in self.times}
                flops = {name: PEAK_FLOPS if name == "peak" else 0.0 for name in here}
                return {"absent": absent, "errors": dict.fromkeys(here, 0.5), "flops": flops}
            case "turns":
                self.asked.append(f"{self.who}: {' '.join(names)}")
                slow = 9.0 if len(names) == 1 else 1.0  # alone, the first sample wakes threads
                rest = given["rounds"] - 1
                return {"samples": {name: [slow * self.times[name], *[self.times[name]] * rest] for name in names}}
            case "cost":
                return {"samples": {"tilewright": [3.0, 1.0, 2.0]}}
            case "code" if isinstance(BY_NAME[given["row"]], Trial):
                return {"code": asdict(Code("f", 1, 2, 3, 4, 5, 6)), "outside": ["expf"]}
            case _:
                raise WorkerError("no code")


class ScriptedSession(Session):
    def __init__(self, times: Mapping[str, float]) -> None:
        super().__init__()
        self.times, self.asked = times, list[str]()

    def worker(self, who: str, threads: int) -> Any:
        return Scripted(self.times, self.asked, f"{who} {threads}")

    def settle(self) -> bool:
        self.asked.append("settle")
        return True


def measured(name: str, times: Mapping[str, float], threads: int = 1) -> tuple[Measured, list[str]]:
    with ScriptedSession(times) as session:
        return measure(BY_NAME[name], threads, ["numpy", "torch", "jax"], EFFORT, session), session.asked


@pytest.mark.parametrize("threads", [1, 2])
def test_the_figure_is_against_the_fastest_peer(threads: int) -> None:
    row, _ = measured(RACE.name, {"tilewright": 3.0, "numpy": 4.0, "torch": 2.0, "peak": 5.0}, threads)
    assert {name: ratio.median for name, ratio in row.ratios.items()} == {"numpy": 0.75, "torch": 1.5}
    assert (row.figures[0].what, row.figures[0].value.median, row.figures[0].met) == ("time / torch", 1.5, False)
    assert row.seconds["tilewright"].median == 3.0
    assert row.absent == {"jax": "not installed"}
    assert row.error == 0.5


def test_the_part_of_the_peak_counts_operations_in_a_time() -> None:
    row, _ = measured(RACE.name, {"tilewright": 1.0, "numpy": 2.0, "peak": 1.5})
    part = row.figures[1]
    assert part.value.median == pytest.approx(0.5 * 1.5)  # half the operations, in two thirds of the time
    assert (part.at_least, part.bar, part.met) == (True, 0.85, False)


def test_one_thread_is_one_process_in_pairs() -> None:
    _, asked = measured(RACE.name, dict.fromkeys(("tilewright", "numpy", "torch", "peak"), 1.0))
    assert asked == [f"together 1: tilewright {other}" for other in ("numpy", "torch", "peak")]


def test_more_threads_are_processes_that_alternate_and_wait_for_silence() -> None:
    _, asked = measured(RACE.name, dict.fromkeys(("tilewright", "numpy", "peak"), 1.0), 2)
    turns = [line for line in asked if line != "settle"]
    first = ["tilewright 2: tilewright", "numpy 2: numpy", "peak 2: peak"]
    assert turns[:6] == [*first, *reversed(first)]
    assert asked.count("settle") == len(turns) == 15


def test_variants_are_compared_with_the_named_one() -> None:
    row, asked = measured("sums in order 512", {"any order": 2.0, "in order": 1.0})
    assert (row.figures[0].what, row.figures[0].value.median) == ("in order / any order", 0.5)
    assert asked == ["together 1: any order in order"]


def test_variants_without_a_name_are_compared_with_the_fastest() -> None:
    times = {"16x16": 3.0, "32x32": 2.0, "64x64": 2.0, "128x128": 1.5, "48x80": 2.0}
    row, _ = measured("user tiles 512", times)
    assert (row.figures[0].what, row.figures[0].value.median, row.met) == ("16x16 / 128x128", 2.0, False)


def test_variants_of_other_work_are_compared_an_element() -> None:
    row, _ = measured("C86 add, n = 1023 to 1025", {"1023": 1023.0, "1024": 1024.0, "1025": 2050.0})
    assert (row.figures[0].what, row.figures[0].value.median) == ("1025 / 1023", 2.0)


def test_variants_with_threads_of_their_own_are_apart() -> None:
    row, asked = measured("C87 add of 1000 on 1 and 8 threads", {"1 thread": 1.0, "8 threads": 1.2})
    assert row.figures[0].value.median == pytest.approx(1.2)
    assert {line for line in asked if line != "settle"} == {"1 thread 1: 1 thread", "8 threads 8: 8 threads"}


def test_a_cost_is_the_median_of_its_samples_at_its_own_threads() -> None:
    row, _ = measured("launch of two empty tasks", {})
    assert (row.threads, row.figures[0].value.median, row.figures[0].unit, row.met) == (2, 2.0, "µs", True)


FORWARDED = "forward_readonly_tile_loads: gemm 128x128x128"
CBLAS_32, SOFTMAX = "CBLAS: gemm 32x32x32", "VECTOR: softmax 1024x1024"


def test_an_option_takes_turns_with_its_absence_and_with_that_again() -> None:
    row, asked = measured(FORWARDED, {"with": 2.0, "without": 3.0, "without again": 3.3})
    assert asked == ["together 1: with without without again"]
    assert row.rounds == {
        "with": (2.0,) * 6,
        "without": (3.0,) * 6,
        "without again": (3.3,) * 6,
    }  # not 5: a whole cycle
    assert (row.figures[0].what, row.figures[0].value.median, row.met) == ("with / without", 2 / 3, True)
    assert (row.code, row.outside) == (Code("f", 1, 2, 3, 4, 5, 6), ("expf",))


def test_a_short_call_is_judged_by_the_time_it_costs() -> None:
    row, _ = measured(CBLAS_32, {"tilewright": 3e-6, "OpenBLAS": 2e-6, "OpenBLAS again": 2e-6})
    assert row.figures[0].value.median == pytest.approx(1.0)
    assert (row.figures[0].what, row.figures[0].unit, row.met) == ("tilewright - OpenBLAS", "µs", True)


def test_a_trial_without_its_peer_has_no_figure() -> None:
    row, asked = measured(SOFTMAX, {"tilewright": 1.0, "torch": 2.0})
    assert asked == ["together 1: tilewright torch"]
    assert (row.absent, row.figures, row.ratios["torch"].median) == ({"numpy": "not installed"}, (), 0.5)


def test_a_failure_is_written_down() -> None:
    class Failing(ScriptedSession):
        def worker(self, who: str, threads: int) -> Any:
            raise WorkerError("its process ended with -11")

    with Failing({}) as session:
        row = measure(RACE, 1, ["numpy"], EFFORT, session)
    assert (row.failed, row.met, row.starred) == ("its process ended with -11", False, False)


@pytest.mark.parametrize(
    ("name", "at"),
    [(RACE.name, [1, 2]), ("capture: gemm", [1]), ("C87 add of 1000 on 1 and 8 threads", [1]), (FORWARDED, [1])],
)
def test_what_does_not_depend_on_threads_is_measured_once(name: str, at: list[int]) -> None:
    assert [threads for threads in (1, 2) if is_measured_at(BY_NAME[name], threads, (1, 2))] == at
