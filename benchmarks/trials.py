"""The page of trials as Markdown: every option of the lowering TIRX with and without, and its best beside libraries."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from benchmarks.page import NONE, digits, duration, environment_table, table
from benchmarks.record import Measured, Run
from benchmarks.rows import BY_NAME, Trial
from benchmarks.rows.row import AGAIN
from benchmarks.rows.tirx import BESIDE, OPTIONS, PROVIDERS
from benchmarks.statistics import Spread, paired_ratios, spread

__all__ = ["trials_page"]

HEAD = """# Measured through TVM

Made by `python -m benchmarks tirx --publish` and `python -m benchmarks render`; do not edit. [How it is
measured](method.md) holds here too, and [another page](missed.md#through-tvm) explains what is missed.

Machine code of each choice is compiled once and kept; a sample calls its packed entry on arguments that TVM knows
already, after the answer was found within its bound. Contestants take turns in all six orders of three. A ratio is the
median of those of single rounds, its quartiles beside it: so a slow moment of the machine meets both. *The same code
again* is the ratio of one artifact to itself in the same rounds: what lies between its quartiles is noise, and a ratio
whose quartiles meet those has a ≈ beside it. *Slower rounds* are those in which the judged one lost, however the median
came out; the JSON file keeps every sample.
"""
INTRODUCTIONS: Mapping[str, str] = {
    OPTIONS: "With an option over without it; everything else is the same. *Stated* is how many times faster the "
    "specification found it, on another machine and for its own code; a bar is its lower end.",
    PROVIDERS: "A kernel that is one call of OpenBLAS's `sgemm`, over a loop in machine code that calls it directly.",
    BESIDE: "Our code over NumPy's, which multiplies by OpenBLAS, and PyTorch's, on one thread each.",
}
TITLES: Mapping[str, str] = {
    OPTIONS: "Each option with and without", PROVIDERS: "Calls of OpenBLAS", BESIDE: "Beside libraries"
}  # fmt: skip


def trials_page(runs: Mapping[str, Run]) -> str:
    """One section a machine."""
    parts = [HEAD]
    for name, run in runs.items():
        parts += _machine(name, run)
    if not runs:
        parts.append("Nothing is measured yet.\n")
    return "\n".join(parts)


def _machine(name: str, run: Run) -> Iterator[str]:
    yield f"## {run.environment.get('processor', name)}\n"
    for group, introduction in INTRODUCTIONS.items():
        rows = [row for row in run.rows if row.group == group]
        if rows:
            yield f"### {TITLES[group]} ({name})\n"
            yield f"{introduction}\n"
            yield table(_head(rows), [_line(row, rows) for row in rows])
    yield from _code(run.rows)
    yield f"### Environment ({name})\n"
    yield environment_table(run)


def _head(rows: Sequence[Measured]) -> list[str]:
    first, *others = _contestants(rows)
    ratios = [cell for other in others for cell in (f"{first} / {other}", "quartiles")]
    stated = ["times faster", "stated"] if rows[0].group == OPTIONS else []
    return ["trial", "tiles", first, *others, *ratios, *stated, "the same code again", "slower rounds", "bar", ""]


def _contestants(rows: Sequence[Measured]) -> list[str]:
    """Of all rows of a group, without those that are there twice."""
    return list(dict.fromkeys(name for row in rows for name in row.rounds if not name.endswith(AGAIN)))


def _line(row: Measured, rows: Sequence[Measured]) -> list[str]:
    names, trial = _contestants(rows), BY_NAME.get(row.row)
    if row.failed:
        return [row.row, row.failed, *[NONE] * (len(_head(rows)) - 3), "✗"]
    times = [_time(row.rounds.get(name)) for name in names]
    ratios = [cell for other in names[1:] for cell in _ratio(row, names[0], other)]
    tiles = ", ".join(f"{key}={size}" for key, size in trial.entry.config.items()) if isinstance(trial, Trial) else ""
    stated = _stated(row, trial, names) if row.group == OPTIONS else []
    thread = f", {row.threads} threads" if row.threads > 1 else ""
    bars = [f"≤ {each.bar:g} {each.unit}".rstrip() for each in row.figures]
    differences = [f" ({digits(each.value.median)} {each.unit})" for each in row.figures if each.unit]
    mark = ("✓" if row.met else "✗") if row.figures or row.error > 1 else NONE
    return [
        f"{row.row}{thread}", tiles or "its own", *times, *ratios, *stated, _again(row), _slower(row, names),
        (", ".join(bars) or NONE) + "".join(differences), mark,
    ]  # fmt: skip


def _ratio(row: Measured, first: str, other: str) -> tuple[str, str]:
    found = _spread(row, first, other)
    if found is None:
        return NONE, NONE
    noise = _noise(row)
    alike = noise is not None and found.low <= noise.high and noise.low <= found.high
    return f"{'≈ ' if alike else ''}{found.median:.3f}", f"{found.low:.3f} – {found.high:.3f}"


def _spread(row: Measured, first: str, other: str) -> Spread | None:
    if first not in row.rounds or other not in row.rounds:
        return None
    return spread(paired_ratios(row.rounds[first], row.rounds[other]))


def _stated(row: Measured, trial: object, names: Sequence[str]) -> list[str]:
    found = _spread(row, names[1], names[0])
    times = NONE if found is None else f"{found.median:.2f}"
    stated = trial.stated if isinstance(trial, Trial) else None
    return [times, NONE if stated is None else " – ".join(dict.fromkeys(f"{each:.2f}" for each in stated))]


def _again(row: Measured) -> str:
    found = _noise(row)
    return NONE if found is None else f"{found.median:.3f} ({found.low:.3f} – {found.high:.3f})"


def _noise(row: Measured) -> Spread | None:
    """The ratio of the same code to itself."""
    twin = next((name for name in row.rounds if name.endswith(AGAIN)), "")
    return _spread(row, twin, twin.removesuffix(AGAIN)) if twin else None


def _slower(row: Measured, names: Sequence[str]) -> str:
    """In how many rounds the first lost to each other one."""
    others = [name for name in names[1:] if name in row.rounds]
    lost = [sum(r > 1 for r in paired_ratios(row.rounds[names[0]], row.rounds[name])) for name in others]
    return f"{', '.join(map(str, lost))} of {len(row.rounds[names[0]])}" if others else NONE


def _time(samples: Sequence[float] | None) -> str:
    return NONE if samples is None else duration(median(samples))


def _code(rows: Sequence[Measured]) -> Iterator[str]:
    """Counts of the judged machine code, and whom it calls."""
    head = ["machine code of", "vector instructions", "FMAs", "loads", "stores", "spills", "calls"]
    lines = [
        [row.row, *map(str, (c.instructions, c.fmas, c.loads, c.stores, c.spills)), ", ".join(row.outside) or "nobody"]
        for row in rows
        if (c := row.code) is not None
    ]
    if lines:
        yield "### Machine code\n"
        yield "Of the hot function of the judged one, and the functions of others that its LLVM names.\n"
        yield table(head, lines)
