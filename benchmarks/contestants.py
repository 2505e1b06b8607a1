"""Makes contestants ready: ours and the peers', on the same arrays, each answer checked before a clock starts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.native import peak_loop
from benchmarks.peers import open_peer
from benchmarks.rows import Alike, Race
from examples.gallery.entry import Array, Entry
from tilewright.tools.running_error import Running, exact

__all__ = ["Arguments", "Ready", "arguments", "ours", "peak", "peer", "recall", "remember", "variant"]

SAME_JOB = 1e-3  # a peer may round in other places, but it must do the same job
ALIGNMENT = 64
MOST = 1e9  # of an error in parts of its bound, so that it can be written down


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arrays of an entry, aligned as a library aligns its own, and the exact answers."""

    inputs: tuple[Array, ...]
    results: tuple[Array, ...]
    answers: tuple[Running, ...]


@dataclass(frozen=True, slots=True)
class Ready:
    """A call that does the job. error: the largest error in parts of its bound; above 1 the answer is wrong."""

    run: Callable[[], object]
    error: float = 0.0
    flops: float = 0.0


def arguments(entry: Entry) -> Arguments:
    """The same for every contestant in every process."""
    inputs, results = entry.arrays()
    answers = entry.exact(inputs, results)
    return Arguments(tuple(map(aligned, inputs)), tuple(map(aligned, results)), tuple(answers))


def remember(given: Arguments, path: Path) -> None:
    """Leaves the answers, rounded and without their bounds, for processes of peers."""
    np.savez(path, *(answer.value.astype("f4") for answer in given.answers))


def recall(entry: Entry, path: Path) -> Arguments:
    """The arguments again with what `remember` left: good enough to see whether a peer does the same job."""
    inputs, results = entry.arrays()
    with np.load(path) as kept:
        answers = tuple(exact(kept[name]) for name in kept.files)
    return Arguments(tuple(map(aligned, inputs)), tuple(map(aligned, results)), answers)


def aligned(array: Array) -> Array:
    """A copy that begins at a cache line."""
    memory = np.empty(array.nbytes + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def ours(entry: Entry, given: Arguments) -> Ready:
    """A direct call of the kernel."""
    kernel, config, everything = entry.kernel, dict(entry.config), (*given.inputs, *given.results)

    def run() -> None:
        kernel(*everything, **config)

    run()
    return Ready(run, worst_error(given.results, given.answers))


def variant(row: Alike, name: str) -> tuple[Ready, Arguments]:
    """One of our own variants, on arrays of its own."""
    given = arguments(row.entries[name])
    return ours(row.entries[name], given), given


def peer(row: Race, name: str, given: Arguments, threads: int) -> Ready:
    """A peer's call. Raises ArithmeticError for another answer, KeyError for a job that it has not, and its errors."""
    library = open_peer(name)
    if row.job not in library.jobs:
        raise KeyError(f"{name} has nothing for it")
    results = tuple(np.empty_like(each) for each in given.results)
    run = library.prepare(row.job, given.inputs, tuple(map(aligned, results)), threads)
    require_same_job(library.arrays(run()), given.answers)
    return Ready(run)


def peak(threads: int) -> Ready:
    """The loop of multiply-adds."""
    run, flops = peak_loop(threads)
    return Ready(run, flops=flops)


def worst_error(results: Sequence[Array], answers: Sequence[Running]) -> float:
    """In parts of the bound; where the bound is 0, any difference is too much."""
    worst = 0.0
    for got, answer in zip(results, answers, strict=True):
        difference = abs(got.astype("f8") - answer.value)
        parts = np.where(difference == 0, 0.0, difference / np.maximum(answer.error, 1e-300))
        worst = max(worst, float(np.nan_to_num(parts, nan=MOST, posinf=MOST).max(initial=0.0)))
    return min(worst, MOST)


def require_same_job(results: Sequence[Array], answers: Sequence[Running]) -> None:
    """Raises ArithmeticError where a result is somewhere else than the answer."""
    for got, answer in zip(results, answers, strict=True):
        room = SAME_JOB * float(abs(answer.value).max(initial=0.0))
        if got.shape != answer.value.shape or not np.allclose(got.astype("f8"), answer.value, SAME_JOB, room):
            raise ArithmeticError("its answer is another one")
