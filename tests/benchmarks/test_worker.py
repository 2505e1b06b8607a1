"""A worker: in this process, and as a process of its own."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from benchmarks.session import Session, WorkerError, settings
from benchmarks.worker import Table, answered

SMALLEST = "gemm NN 32x32x32"


def test_contestants_are_checked_then_take_turns() -> None:
    table = Table(threads=1)
    opened = table.open(SMALLEST, ["tilewright", "numpy", "numba"], seconds=1e-5)
    assert opened["absent"].keys() == {"numba"}
    assert 0 < opened["errors"]["tilewright"] <= 1
    samples = table.turns(["tilewright", "numpy"], rounds=4, seconds=10)["samples"]
    assert {name: len(found) for name, found in samples.items()} == {"tilewright": 4, "numpy": 4}


def test_identical_code_takes_part_twice_and_turns_end_with_a_whole_cycle() -> None:
    table = Table(threads=1)
    names = ["with", "without", "without again"]
    opened = table.open("max_cpu_stack_bytes=65536: gemm 32x32x32", names, seconds=1e-5)
    assert table.ready["without"] is table.ready["without again"]
    assert all(0 < error <= 1 for error in opened["errors"].values())
    samples = table.turns(names, rounds=50, seconds=0)["samples"]
    assert {len(found) for found in samples.values()} == {6}
    looked_at = table.code("max_cpu_stack_bytes=65536: gemm 32x32x32")
    assert (looked_at["code"]["fmas"] > 0, looked_at["outside"]) == (True, [])


def test_openblas_is_called_without_python_between() -> None:
    table = Table(threads=1)
    opened = table.open("CBLAS: gemm 32x32x32", ["tilewright", "OpenBLAS"], seconds=1e-5)
    assert opened["errors"].keys() == {"tilewright", "OpenBLAS"}
    assert table.ready["OpenBLAS"].jobs == 76
    assert table.code("CBLAS: gemm 32x32x32")["outside"] == ["tvm.contrib.cblas.matmul"]


def test_our_process_tells_the_others_what_is_right(tmp_path: Path) -> None:
    file = str(tmp_path / "answers.npz")
    Table(threads=1).open(SMALLEST, ["tilewright"], seconds=1e-5, answers=file)
    others = Table(threads=1)
    assert others.open(SMALLEST, ["numpy"], seconds=1e-5, answers=file)["absent"] == {}
    np.savez(file, np.ones((32, 32), "f4"))
    absent = others.open(SMALLEST, ["numpy"], seconds=1e-5, answers=file)["absent"]
    assert absent == {"numpy": "its answer is another one"}


def test_time_ends_a_race_but_not_before_three_rounds() -> None:
    table = Table(threads=1)
    table.open(SMALLEST, ["tilewright"], seconds=1e-5)
    assert len(table.turns(["tilewright"], rounds=50, seconds=0)["samples"]["tilewright"]) == 3


def test_processes_that_are_compared_measure_on_the_same_core() -> None:
    before = os.sched_getaffinity(0)
    table = Table(threads=8)
    table.open("C87 add of 1000 on 1 and 8 threads", ["8 threads"], seconds=1e-5)
    assert os.sched_getaffinity(0) == {max(before)}
    table.open(SMALLEST, ["tilewright"], seconds=1e-5)
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ({"do": "open", "with": {"row": "no such row", "names": [], "seconds": 0}}, "no such row"),
        ({"do": "cost", "with": {"row": SMALLEST, "rounds": 1}}, "TypeError: gemm NN 32x32x32 is no cost"),
        ({"do": "dance", "with": {}}, "dance"),
    ],
)
def test_a_request_that_fails_is_answered_with_the_reason(request_: dict[str, object], reason: str) -> None:
    assert answered(Table(threads=1), request_) == {"failed": reason}


def test_a_worker_process_answers_until_it_ends() -> None:
    with Session() as session:
        worker = session.worker("someone", 1)
        assert "NumPy" in worker.ask("about", names=["numpy"])["about"]["numpy"]["about"]
        assert worker.ask("code", row=SMALLEST)["code"]["fmas"] > 0
        assert session.settle()
        with pytest.raises(WorkerError, match="is no cost"):
            worker.ask("cost", row=SMALLEST, rounds=1)
        assert session.worker("someone", 1) is worker
        os.kill(worker.pid, signal.SIGKILL)
        with pytest.raises(WorkerError, match="ended with -9"):
            worker.ask("about", names=[])
        assert session.worker("someone", 1) is not worker


def test_every_library_gets_the_same_threads() -> None:
    found = settings(3)
    assert {found[name] for name in found if name.endswith("NUM_THREADS")} == {"3"}
