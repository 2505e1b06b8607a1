"""The page of trials, from samples that nobody measured."""

from pathlib import Path

from benchmarks.code import Code
from benchmarks.record import Figure, Measured, Run, read, write
from benchmarks.statistics import Spread, paired_ratios, spread
from benchmarks.trials import trials_page

GOLDEN = Path(__file__).parent / "trials.md"
ON, OFF, AGAIN = (1.0e-4, 2.2e-4, 1.1e-4), (2.0e-4, 2.0e-4, 2.0e-4), (2.1e-4, 2.0e-4, 1.9e-4)
RATIO = spread(paired_ratios(ON, OFF))
CODE = Code("main", 40, 24, 10, 6, 0, 0)
WON = Measured(
    row="forward_readonly_tile_loads: gemm 128x128x128",
    group="options",
    threads=1,
    figures=(Figure("with / without", RATIO, 0.69),),
    rounds={"with": ON, "without": OFF, "without again": AGAIN},
    code=CODE,
)
OPEN = Measured(
    row="min_cpu_parallel_tasks=64: add 17x257",
    group="options",
    threads=2,
    rounds={"with": OFF, "without": AGAIN, "without again": OFF},
)
SHORT = Measured(
    row="CBLAS: gemm 32x32x32",
    group="calls of OpenBLAS",
    threads=1,
    figures=(Figure("tilewright - OpenBLAS", Spread(0.13, 0.1, 0.2, 3), 2.0, "µs"),),
    rounds={"tilewright": (8e-7,) * 3, "OpenBLAS": (7e-7,) * 3, "OpenBLAS again": (7e-7,) * 3},
    code=CODE,
    outside=("tvm.contrib.cblas.matmul",),
)
LOST = Measured(
    row="VECTOR: softmax 1024x1024",
    group="beside libraries",
    threads=1,
    figures=(Figure("tilewright / numpy", Spread(0.5, 0.4, 0.6, 3), 0.4),),
    rounds={"tilewright": (1e-3,) * 3, "numpy": (2e-3,) * 3},
)
FAILED = Measured(row="VECTOR: row sum 1024x1024", group="beside libraries", threads=1, failed="it was refused")
RUN = Run({"processor": "a | fast one"}, (WON, OPEN, SHORT, LOST, FAILED))


def test_the_page(golden_accept: bool) -> None:
    text = trials_page({"fast-2-cores": RUN})
    if golden_accept:
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_a_page_of_nothing_says_so() -> None:
    assert trials_page({}).endswith("Nothing is measured yet.\n")


def test_every_round_is_kept(tmp_path: Path) -> None:
    write(RUN, tmp_path / "run.json")
    assert read(tmp_path / "run.json") == RUN
