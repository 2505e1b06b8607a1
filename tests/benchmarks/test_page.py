"""The page and the file it is made from."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.__main__ import PAGES, TIRX, chosen, page_of, trials_of
from benchmarks.code import Code
from benchmarks.page import duration, groups_of, one_line, page
from benchmarks.plots import pictures
from benchmarks.record import Figure, Measured, Run, merged, read, write
from benchmarks.rows import TRIALS
from benchmarks.statistics import Spread

GOLDEN = Path(__file__).parent / "page.md"


def around(value: float) -> Spread:
    return Spread(value, value * 0.9, value * 1.1, 15)


WON = Measured(
    row="gemm NN 128x128x128",
    group="matrix products",
    threads=1,
    seconds={"tilewright": around(40e-6), "numpy": around(50e-6)},
    ratios={"numpy": around(0.8)},
    figures=(Figure("time / numpy", around(0.8), 1.0), Figure("part of the peak", around(0.9), 0.85, at_least=True)),
    flops=2 * 128**3,
    error=0.02,
    absent={"jax": "No module named 'jax'"},
    code=Code("contract", 40, 24, 10, 6, 0, 1234),
)
LOST = replace(
    WON, row="gemm NN 512x512x512", ratios={"numpy": around(1.25)}, flops=2 * 512**3, absent={}, code=None,
    figures=(Figure("time / numpy", around(1.25), 1.0),),
)  # fmt: skip
PEAKED = replace(WON, figures=WON.figures[1:], absent={})
MISSED = Figure("time / numpy", around(1.25), 1.0, starred=True)
BEYOND = replace(LOST, row="softmax 17x257", group="row kernels", flops=0, figures=(MISSED,))
WRONG = replace(WON, row="rope 17x256", group="row kernels", flops=0, error=7.0, figures=WON.figures[:1], code=None)
FAILED = Measured(row="row sum 17x257", group="row sum", threads=2, failed="its process ended with -11")
COST = Measured(
    row="capture: gemm", group="compiling", threads=1, figures=(Figure("cost", around(4.5), 15.0, "ms"),)
)  # fmt: skip
RUN = Run({"processor": "a | fast one", "load before": "0.10"}, (FAILED, COST, WON, LOST, BEYOND, WRONG))


def test_the_page(golden_accept: bool) -> None:
    text = page({"fast-2-cores": RUN}, {"fast-2-cores": {("matrix products", 1): "picture.svg"}})
    if golden_accept:
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_a_page_of_nothing_says_so() -> None:
    assert page({}, {}).endswith("Nothing is measured yet.\n")


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    write(RUN, tmp_path / "run.json")
    assert read(tmp_path / "run.json") == RUN


def test_new_rows_take_the_place_of_old_ones() -> None:
    again = replace(WON, error=0.5)
    run = merged(RUN, Run({"load before": "1"}, (again, replace(WON, threads=2))))
    assert run.environment == {"load before": "1"}
    assert run.rows == (FAILED, COST, again, LOST, BEYOND, WRONG, replace(WON, threads=2))
    assert merged(None, RUN) == RUN


def test_groups_come_in_the_order_of_the_table() -> None:
    found = [(group, threads) for group, threads, _ in groups_of(RUN)]
    assert found == [("matrix products", 1), ("row kernels", 1), ("compiling", 1), ("row sum", 2)]


@pytest.mark.parametrize(
    ("row", "line"),
    [
        (PEAKED, f"✓  {WON.row}, 1 thr: 40 µs, part of the peak 0.90 (bar 0.85)"),
        (BEYOND, "✗* softmax 17x257, 1 thr: 40 µs, time / numpy 1.25 (bar 1*)"),
        (WRONG, "✗  rope 17x256, 1 thr: 40 µs, time / numpy 0.80 (bar 1); the answer is off by 7 bounds; absent: jax"),
        (FAILED, "✗  row sum 17x257: failed: its process ended with -11"),
    ],
)  # fmt: skip
def test_a_line_says_what_was_missed(row: Measured, line: str) -> None:
    assert one_line(row) == line


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.5e-7, "250 ns"), (1e-6, "1 µs"), (0.0123456, "12.3 ms"), (12.0, "12 s"), (1e-3, "1 ms")]
)
def test_a_duration_has_three_digits(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_pictures_that_are_there_are_named(tmp_path: Path) -> None:
    (tmp_path / "fast-matrix-products-1.svg").write_text("<svg/>")
    assert pictures(RUN, tmp_path, "fast") == {("matrix products", 1): "fast-matrix-products-1.svg"}


def test_the_published_page_is_what_its_files_give() -> None:
    """Nobody edits it; `python -m benchmarks render` makes it."""
    assert (PAGES / "index.md").read_text(encoding="utf-8") == page_of(PAGES)
    assert (PAGES / "tirx.md").read_text(encoding="utf-8") == trials_of(TIRX)


def test_trials_are_chosen_from_a_table_of_their_own() -> None:
    assert [row.name for row in chosen("VECTOR: *", quick=True, table=TRIALS)] == ["VECTOR: softmax 1024x1024"]
    assert chosen("VECTOR: *", quick=False) == []


@pytest.mark.parametrize(
    ("patterns", "quick", "names"),
    [
        ("gemm NN 5*", False, ["gemm NN 512x512x512"]),
        ("attention", True, ["attention full S=512 blocks 32x32", "attention causal S=512 blocks 32x32"]),
        ("C84*,C83*", False, ["C83 add of 17, direct call", "C84 gemm 1024x1024x1024"]),
        ("nothing", False, []),
    ],
)
def test_rows_are_chosen_by_name_or_group(patterns: str, quick: bool, names: list[str]) -> None:
    assert [row.name for row in chosen(patterns, quick=quick)] == names
