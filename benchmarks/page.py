"""The page of measured rows as Markdown: everything that was measured, losing rows too."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from benchmarks.record import Figure, Measured, Run
from benchmarks.rows import MEANS, ROWS
from benchmarks.rows.row import LIBRARIES, OURS
from benchmarks.statistics import Spread, geometric_mean

__all__ = ["NONE", "Plots", "digits", "duration", "environment_table", "groups_of", "one_line", "page", "table"]

Plots = Mapping[tuple[str, int], str]
"""File names by group and number of threads."""

HEAD = """# Measured

Made by `python -m benchmarks render` from the JSON files beside it; do not edit. [How to read it](method.md) says what
the figures mean, and [another page](missed.md) why bars are missed. A ratio is our time over that of the fastest peer:
below 1 is faster. ✓ meets its bar, ✗ misses it, and ✗\\* misses a bar that lies beyond what prototypes of this compiler
reached.

```{toctree}
:hidden:

method
missed
tirx
```
"""
NONE = "–"


def page(runs: Mapping[str, Run], plots: Mapping[str, Plots]) -> str:
    """One section a machine."""
    parts = [HEAD]
    for name, run in runs.items():
        parts += _machine(name, run, plots.get(name, {}))
    if not runs:
        parts.append("Nothing is measured yet.\n")
    return "\n".join(parts)


def groups_of(run: Run) -> list[tuple[str, int, list[Measured]]]:
    """Group, threads and rows, fewest threads first, in the order of the table."""
    order = {row.group: place for place, row in reversed(list(enumerate(ROWS)))}
    found: dict[tuple[int, int, str], list[Measured]] = {}
    for row in run.rows:
        found.setdefault((row.threads, order.get(row.group, len(ROWS)), row.group), []).append(row)
    return [(group, threads, rows) for (threads, _, group), rows in sorted(found.items(), key=lambda each: each[0])]


def one_line(row: Measured) -> str:
    """A row as the terminal shows it."""
    if row.failed:
        return f"✗  {row.row}: failed: {row.failed}"
    figures = "; ".join(
        f"{each.what} {_value(each)} (bar {each.bar:g}{'*' if each.starred else ''})" for each in row.figures
    )
    wrong = f"; the answer is off by {row.error:.3g} bounds" if row.error > 1 else ""
    absent = f"; absent: {', '.join(row.absent)}" if row.absent else ""
    ours = f"{duration(row.seconds[OURS].median)}, " if OURS in row.seconds else ""
    return f"{_mark(row):<2} {row.row}, {row.threads} thr: {ours}{figures}{wrong}{absent}"


def duration(seconds: float) -> str:
    """With three digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds < 1000 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def _machine(name: str, run: Run, plots: Plots) -> Iterator[str]:
    yield f"## {run.environment.get('processor', name)}\n"
    yield _summary(run)
    for group, threads, rows in groups_of(run):
        yield f"### {group}, {threads} thread{'s' if threads > 1 else ''} ({name})\n"
        if (group, threads) in plots:
            yield f"![{group}, ratios]({plots[group, threads]})\n"
        yield _races(rows) if any(row.ratios or row.flops for row in rows) else _others(rows)
        yield from _notes(rows)
        yield from _code(rows)
    yield f"### Environment ({name})\n"
    yield environment_table(run)


def environment_table(run: Run) -> str:
    """What a run's figures depend on."""
    return table(["", ""], [[key, value.replace("|", "/")] for key, value in run.environment.items()])


def _summary(run: Run) -> str:
    head = ["group", "threads", "rows", "met", "missed", "missed\\*", "geometric mean", "bar"]
    return table(head, [_summary_line(*each) for each in groups_of(run)])


def _summary_line(group: str, threads: int, rows: Sequence[Measured]) -> list[str]:
    met, starred = sum(row.met for row in rows), sum(not row.met and row.starred for row in rows)
    worst = [max(ratio.median for ratio in row.ratios.values()) for row in rows if row.ratios]
    mean = geometric_mean(worst) if worst else 0.0
    bar = MEANS.get(group)
    shown = [f"{mean:.2f}" if worst else NONE, NONE if bar is None else f"{bar:.2f} {'✓' if 0 < mean <= bar else '✗'}"]
    return [group, str(threads), str(len(rows)), str(met), str(len(rows) - met - starred), str(starred), *shown]


def _races(rows: Sequence[Measured]) -> str:
    peers = [name for name in LIBRARIES if any(name in row.seconds for row in rows)]
    head = ["row", "ours", "GFLOPS", *peers, "figure", "quartiles", "bar", ""]
    return table(head, [line for row in rows for line in _race_lines(row, peers)])


def _race_lines(row: Measured, peers: Sequence[str]) -> Iterator[list[str]]:
    times = [_time(row.seconds.get(name)) for name in peers]
    ours = row.seconds.get(OURS)
    rate = f"{row.flops / ours.median / 1e9:.0f}" if ours and row.flops else NONE
    first = [_name(row), _time(ours), rate, *times]
    yield from _figure_lines(row, first)


def _others(rows: Sequence[Measured]) -> str:
    head = ["row", "times", "figure", "quartiles", "bar", ""]
    return table(head, [line for row in rows for line in _figure_lines(row, [_name(row), _times(row.seconds)])])


def _figure_lines(row: Measured, first: list[str]) -> Iterator[list[str]]:
    """One line a figure; the cells before it are not repeated."""
    if row.failed or not row.figures:
        yield [*first, row.failed or NONE, NONE, NONE, "✗" if row.failed or row.error > 1 else NONE]
        return
    for each in row.figures:
        sign = "≥" if each.at_least else "≤"
        quartiles = f"{digits(each.value.low)} – {digits(each.value.high)}"
        mark = "✓" if each.met and row.error <= 1 else f"✗{_star(each)}"
        yield [
            *first,
            f"{each.what}: {_bold(_value(each), each)}",
            quartiles,
            f"{sign} {each.bar:g}{_star(each)}",
            mark,
        ]
        first = [""] * len(first)


def _notes(rows: Sequence[Measured]) -> Iterator[str]:
    """Wrong answers, and who did not take part."""
    wrong = [f"{row.row} ({row.error:.3g} bounds)" for row in rows if row.error > 1]
    if wrong:
        yield f"**Wrong answers**: {', '.join(wrong)}.\n"
    missing: dict[str, list[str]] = {}
    for row in rows:
        for name, why in row.absent.items():
            missing.setdefault(f"{name} ({why})", []).append(row.row)
    lines = [
        f"- {who}: {'every row' if len(where) == len(rows) else ', '.join(where)}" for who, where in missing.items()
    ]
    if lines:
        yield "\n".join(["Absent:", "", *lines, ""])


def _code(rows: Sequence[Measured]) -> Iterator[str]:
    head = ["machine code of", "hot function", "vector instructions", "FMAs", "loads", "stores", "spills", "bytes"]
    lines = [_code_line(row) for row in rows if row.code is not None]
    if lines:
        yield table(head, lines)


def _code_line(row: Measured) -> list[str]:
    code = row.code
    if code is None:
        return []
    counts = (code.instructions, code.fmas, code.loads, code.stores, code.spills)
    return [row.row, f"`{code.function}`", *map(str, counts), str(code.size) if code.size else NONE]


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """In Markdown."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join([*(f"| {' | '.join(row)} |" for row in rows), ""])


def _name(row: Measured) -> str:
    return row.row if row.met else f"**{row.row}**"


def _mark(row: Measured) -> str:
    return "✓" if row.met else "✗*" if row.starred else "✗"


def _star(figure: Figure) -> str:
    return "\\*" if figure.starred else ""


def _bold(text: str, figure: Figure) -> str:
    return text if figure.met else f"**{text}**"


def _value(figure: Figure) -> str:
    return f"{digits(figure.value.median)} {figure.unit}".rstrip()


def digits(value: float) -> str:
    """With two places, or none from 100 on."""
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def _time(value: Spread | None) -> str:
    return NONE if value is None else duration(value.median)


def _times(seconds: Mapping[str, Spread]) -> str:
    return ", ".join(f"{name} {duration(each.median)}" for name, each in seconds.items()) or NONE
