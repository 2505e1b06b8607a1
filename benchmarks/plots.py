"""One picture a group: our time over each peer's, row by row, on a logarithmic axis. Needs matplotlib."""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.page import Plots, groups_of
from benchmarks.record import Measured, Run
from benchmarks.rows.row import LIBRARIES

__all__ = ["draw", "pictures"]

MARKERS = dict(zip(LIBRARIES, "os^Dv", strict=True))


def draw(run: Run, folder: Path, machine: str) -> None:
    """Writes the pictures of a machine, if matplotlib is installed."""
    if find_spec("matplotlib") is None:
        return
    for group, threads, rows in groups_of(run):
        raced = [row for row in rows if row.ratios]
        if raced:
            title = f"{group}, {threads} thread{'s' if threads > 1 else ''}: our time / theirs"
            _draw(_path(folder, machine, group, threads), title, raced)


def pictures(run: Run, folder: Path, machine: str) -> Plots:
    """Those that are there."""
    paths = {(group, threads): _path(folder, machine, group, threads) for group, threads, _ in groups_of(run)}
    return {key: path.name for key, path in paths.items() if path.exists()}


def _path(folder: Path, machine: str, group: str, threads: int) -> Path:
    return folder / f"{machine}-{group.replace(' ', '-')}-{threads}.svg"


def _draw(path: Path, title: str, rows: Sequence[Measured]) -> None:
    plot = _matplotlib()
    figure, axes = plot.subplots(figsize=(8, 1.2 + 0.26 * len(rows)), layout="constrained")
    places = range(len(rows))
    for name, marker in MARKERS.items():
        points = [
            (row.ratios[name].median, place) for place, row in zip(places, rows, strict=True) if name in row.ratios
        ]
        if points:
            axes.plot(*zip(*points, strict=True), marker, label=name, markersize=5, alpha=0.8)
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yticks(list(places), [row.row for row in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_title(title, fontsize=10)
    axes.grid(axis="x", which="both", alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(path, format="svg", metadata={"Date": None})
    plot.close(figure)


def _matplotlib() -> Any:
    """Without a display, and the same bytes for the same figures."""
    library: Any = import_module("matplotlib")
    library.use("svg")
    library.rcParams["svg.hashsalt"] = "tilewright"
    library.rcParams["svg.fonttype"] = "none"  # letters stay letters
    return import_module("matplotlib.pyplot")
