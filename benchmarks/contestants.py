"""Makes contestants ready: ours and the peers', on the same arrays, each answer checked before a clock starts."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np

from benchmarks.native import openblas_products, peak_loop
from benchmarks.peers import open_peer
from benchmarks.rows import Alike, Artifact, Race, Trial
from examples.gallery.entry import Array, Entry
from tilewright.backends.simd.tirx import make_ready
from tilewright.bridge import tirx
from tilewright.tools.running_error import Running, exact

__all__ = [
    "Arguments", "Ready", "arguments", "openblas", "ours", "peak", "peer", "recall", "remember", "through_tvm",
    "variant",
]  # fmt: skip

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
    """A call that does the job `jobs` times. error: the largest error in parts of its bound; above 1 the answer is
    wrong. artifact: what was compiled for it, where it is looked at. memory: what must live as long as the call.
    """

    run: Callable[[], object]
    error: float = 0.0
    flops: float = 0.0
    jobs: int = 1
    artifact: tirx.Compiled | None = None
    memory: object = None


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


def through_tvm(entry: Entry, made: Artifact, given: Arguments) -> Ready:
    """The packed entry of machine code that TVM made, on arguments that it knows already."""
    with _constants(made.constants):
        make_ready(made.options)
        compiled = tirx.compile(entry.capture(), made.options)
    run = compiled.prepare([each.ctypes.data for each in (*given.inputs, *given.results)])
    run()
    return Ready(run, worst_error(given.results, given.answers), artifact=compiled, memory=given)


@contextmanager
def _constants(values: Mapping[str, int]) -> Generator[None]:
    """The compiler's constants set otherwise. Raises AttributeError for one that it has not."""
    places = {(import_module(name.rpartition(".")[0]), name.rpartition(".")[2]): n for name, n in values.items()}
    before = {place: getattr(*place) for place in places}
    for place, value in places.items():
        setattr(*place, value)
    try:
        yield
    finally:
        for place, value in before.items():
            setattr(*place, value)


def openblas(given: Arguments) -> Ready:
    """OpenBLAS's function called from machine code, without Python around each of many calls of a short one."""
    run, jobs = openblas_products(*given.inputs, *given.results)
    run()
    return Ready(run, worst_error(given.results, given.answers), jobs=jobs, memory=given)


def peer(row: Race | Trial, name: str, given: Arguments, threads: int) -> Ready:
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
