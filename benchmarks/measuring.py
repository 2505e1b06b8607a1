"""Measures a row: opens its contestants, lets them take turns, and makes figures of the samples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from benchmarks.code import Code
from benchmarks.record import Figure, Measured
from benchmarks.rows import Alike, Bar, Cost, Race, Row, Trial
from benchmarks.rows.row import OURS, PEAK
from benchmarks.session import Session, WorkerError, load
from benchmarks.statistics import Spread, orders, paired_ratios, spread, turns_of

__all__ = ["FULL", "QUICK", "Effort", "is_measured_at", "measure"]

CHUNKS = 5  # alternations of processes
SHORT = 3  # times as many where all that runs is short: the clock of a core may change from one second to the next
TOGETHER, ALONE = "together", "alone"

Samples = Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is spent on a row: rounds at most, the length of one sample, and of all rounds against one peer."""

    rounds: int
    sample_seconds: float
    peer_seconds: float


FULL = Effort(rounds=31, sample_seconds=0.005, peer_seconds=6.0)
QUICK = Effort(rounds=9, sample_seconds=0.002, peer_seconds=0.4)


def is_measured_at(row: Row, threads: int, all_threads: Sequence[int]) -> bool:
    """What fixes its own threads is measured once, in the first pass."""
    own = isinstance(row, Cost | Trial) or (isinstance(row, Alike) and bool(row.threads))
    return threads == all_threads[0] if own else True


def measure(row: Row, threads: int, peers: Sequence[str], effort: Effort, session: Session) -> Measured:
    """A row on so many threads, beside those of its peers that are asked for. What fails is written into the record."""
    blank = Measured(row=row.name, group=row.group, threads=threads, load=load())
    try:
        match row:
            case Race():
                return _race(
                    row, replace(blank, flops=row.flops), [p for p in row.peers if p in peers], effort, session
                )
            case Alike():
                return _alike(row, blank, effort, session)
            case Trial():
                return _trial(row, replace(blank, threads=row.threads), effort, session)
            case Cost():
                return _cost(row, blank, effort, session)
    except WorkerError as error:
        return replace(blank, failed=str(error))


# ---------------------------------------------------------------------------------------------------------- races


def _race(row: Race, blank: Measured, peers: Sequence[str], effort: Effort, session: Session) -> Measured:
    rivals = [*peers, *([PEAK] if row.peak_share else [])]
    found = (_in_one_process if blank.threads == 1 else _in_turns)(row, blank.threads, rivals, effort, session)
    ratios = {name: spread(paired_ratios(*found.pairs[name])) for name in found.pairs}
    against = {name: ratio for name, ratio in ratios.items() if name != PEAK}
    return replace(
        blank,
        seconds=found.seconds(),
        ratios=against,
        figures=(*_best(row, blank.threads, against), *_share(row, found, ratios)),
        error=found.error,
        absent=found.absent,
        code=_code(row, session),
    )


@dataclass(slots=True)
class _Found:
    """Samples of a race: for each rival, ours and its own, beside each other in time."""

    pairs: dict[str, tuple[list[float], list[float]]]
    absent: dict[str, str]
    error: float
    flops: Mapping[str, float]

    def seconds(self) -> dict[str, Spread]:
        own = [sample for mine, _ in self.pairs.values() for sample in mine]
        others = {name: spread(theirs) for name, (_, theirs) in self.pairs.items() if name != PEAK}
        return {OURS: spread(own), **others} if own else {}


def _in_one_process(row: Race, threads: int, rivals: Sequence[str], effort: Effort, session: Session) -> _Found:
    worker = session.worker(TOGETHER, threads)
    reply = worker.ask("open", row=row.name, names=[OURS, *rivals], seconds=effort.sample_seconds)
    found = _Found({}, reply["absent"], reply["errors"][OURS], reply["flops"])
    for name in [each for each in rivals if each not in found.absent]:
        samples = _turns(worker.ask("turns", names=[OURS, name], rounds=effort.rounds, seconds=effort.peer_seconds))
        found.pairs[name] = samples[OURS], samples[name]
    return found


def _in_turns(row: Race, threads: int, rivals: Sequence[str], effort: Effort, session: Session) -> _Found:
    """Every contestant has a process of its own. All others are idle while one is measured."""
    found = _Found({}, {}, 0.0, {})
    opened: dict[str, float] = {}
    what = {"row": row.name, "seconds": effort.sample_seconds, "answers": session.answers}
    for name in (OURS, *rivals):
        reply = session.worker(name, threads).ask("open", names=[name], **what)
        found.absent.update(reply["absent"])
        opened.update(reply["flops"])
        found.error = max(found.error, reply["errors"].get(OURS, 0.0))
    found.flops = opened
    chunks: dict[str, list[float]] = {name: [] for name in opened}
    for order in orders(list(opened), min(CHUNKS, effort.rounds)):
        for name in order:
            chunks[name].append(_chunk(session, name, threads, effort))
    mine = chunks.pop(OURS)
    found.pairs = {name: (mine, theirs) for name, theirs in chunks.items()}
    return found


def _chunk(session: Session, name: str, threads: int, effort: Effort) -> float:
    """The median of some samples in a row; the first, which wakes threads, is not one of them."""
    session.settle()
    rounds, seconds = max(1, effort.rounds // CHUNKS), effort.peer_seconds / CHUNKS
    reply = session.worker(name, threads).ask("turns", names=[name], rounds=rounds + 1, seconds=seconds)
    return median(_turns(reply)[name][1:])


def _best(row: Race, threads: int, ratios: Mapping[str, Spread]) -> list[Figure]:
    """Our time over that of the fastest peer. Without peers there is nothing to say."""
    if not ratios:
        return []
    worst = max(ratios, key=lambda name: ratios[name].median)
    return [_figure(f"time / {worst}", ratios[worst], bar) for bar in _bars(row.bars, threads)]


def _share(row: Race, found: _Found, ratios: Mapping[str, Spread]) -> list[Figure]:
    """The part of the peak that we reach, from samples beside each other."""
    if PEAK not in ratios:
        return []
    shares = [row.flops / found.flops[PEAK] / ratio for ratio in paired_ratios(*found.pairs[PEAK])]
    return [Figure("part of the peak", spread(shares), row.peak_share, at_least=True)]


def _code(row: Race, session: Session) -> Code | None:
    """Counts of the code for one thread; the code for more differs in how it is shared out."""
    try:
        return Code(**session.worker(TOGETHER, 1).ask("code", row=row.name)["code"])
    except WorkerError:
        return None


# ------------------------------------------------------------------------------------------- ours beside ours


def _alike(row: Alike, blank: Measured, effort: Effort, session: Session) -> Measured:
    samples, error = (_apart if row.threads else _side_by_side)(row, blank.threads, effort, session)
    each = {name: [s / row.work.get(name, 1) for s in found] for name, found in samples.items()}
    medians = {name: median(found) for name, found in each.items()}
    base = row.against or min(medians, key=medians.__getitem__)
    slowest = max((name for name in medians if name != base), key=medians.__getitem__)
    value = spread(paired_ratios(each[slowest], each[base]))
    return replace(
        blank,
        seconds={name: spread(found) for name, found in samples.items()},
        figures=tuple(_figure(f"{slowest} / {base}", value, bar) for bar in _bars(row.bars, blank.threads)),
        error=error,
    )


def _side_by_side(row: Alike, threads: int, effort: Effort, session: Session) -> tuple[Samples, float]:
    worker, names = session.worker(TOGETHER, threads), list(row.entries)
    reply = worker.ask("open", row=row.name, names=names, seconds=effort.sample_seconds)
    seconds = effort.peer_seconds * len(names)
    samples = _turns(worker.ask("turns", names=names, rounds=effort.rounds, seconds=seconds))
    return samples, max(reply["errors"].values())


def _apart(row: Alike, _: int, effort: Effort, session: Session) -> tuple[Samples, float]:
    error, samples = 0.0, {name: list[float]() for name in row.entries}
    for name, threads in row.threads.items():
        worker = session.worker(name, threads)
        reply = worker.ask("open", row=row.name, names=[name], seconds=effort.sample_seconds)
        error = max(error, *reply["errors"].values())
    for order in orders(list(row.entries), min(SHORT * CHUNKS, effort.rounds)):
        for name in order:
            samples[name].append(_chunk(session, name, row.threads[name], effort))
    return samples, error


# ---------------------------------------------------------------------------------------------------------- trials


def _trial(row: Trial, blank: Measured, effort: Effort, session: Session) -> Measured:
    """Everything in one process, in whole cycles of orders; the samples of every round are kept."""
    worker = session.worker(TOGETHER, row.threads)
    reply = worker.ask("open", row=row.name, names=row.contestants, seconds=effort.sample_seconds)
    names = [name for name in row.contestants if name not in reply["absent"]]
    cycle, seconds = len(turns_of(names)), effort.peer_seconds * (len(names) - 1)
    rounds = max(1, effort.rounds // cycle) * cycle
    samples = _turns(worker.ask("turns", names=names, rounds=rounds, seconds=seconds))
    looked_at = worker.ask("code", row=row.name)
    first, *others = names
    ratios = {name: spread(paired_ratios(samples[first], samples[name])) for name in others}
    return replace(
        blank,
        seconds={name: spread(found) for name, found in samples.items()},
        ratios=ratios,
        figures=tuple(
            _compared(first, row.contestants[1], samples, bar) for bar in row.bars if row.contestants[1] in names
        ),
        error=max(reply["errors"].values()),
        absent=reply["absent"],
        code=Code(**looked_at["code"]),
        outside=tuple(looked_at["outside"]),
        rounds={name: tuple(found) for name, found in samples.items()},
    )


def _compared(first: str, other: str, samples: Samples, bar: Bar) -> Figure:
    """The ratio of two contestants, or how many microseconds the first takes more."""
    if bar.unit:
        more = [(a - b) * 1e6 for a, b in zip(samples[first], samples[other], strict=True)]
        return _figure(f"{first} - {other}", spread(more), bar, bar.unit)
    return _figure(f"{first} / {other}", spread(paired_ratios(samples[first], samples[other])), bar)


# ----------------------------------------------------------------------------------------------------------- costs


def _cost(row: Cost, blank: Measured, effort: Effort, session: Session) -> Measured:
    threads = row.threads or 1
    value = spread(_turns(session.worker(ALONE, threads).ask("cost", row=row.name, rounds=effort.rounds))[OURS])
    return replace(blank, threads=threads, figures=tuple(_figure("cost", value, bar, row.unit) for bar in row.bars))


def _turns(reply: Mapping[str, Any]) -> dict[str, list[float]]:
    return reply["samples"]


def _bars(bars: Sequence[Bar], threads: int) -> list[Bar]:
    return [bar for bar in bars if bar.threads in {0, threads}]


def _figure(what: str, value: Spread, bar: Bar, unit: str = "") -> Figure:
    return Figure(what, value, bar.limit, unit, bar.starred)
