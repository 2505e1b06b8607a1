"""What a launch costs, in microseconds: kernels so small that nothing else is left."""

from collections.abc import Callable
from functools import partial

import numpy as np

import tilewright as tw
from benchmarks.native import launches
from benchmarks.rows.row import Bar, Cost, Row
from benchmarks.statistics import sample
from examples.gallery.elementwise import add_vectors
from tilewright import tile

__all__ = ["ROWS", "direct_call"]

ELEMENTS = 17
CALLS = 1000  # a sample


def _arrays(count: int) -> list[np.ndarray]:
    a, b = np.arange(count, dtype="f4"), np.full(count, 100, "f4")
    return [a, b, np.full(count, np.nan, "f4")]


def _checked(arrays: list[np.ndarray]) -> None:
    if not np.array_equal(arrays[2], arrays[0] + arrays[1]):
        raise ArithmeticError(f"a sum of {len(arrays[0])} elements is wrong")


def _microseconds(run: Callable[[], object], rounds: int, per_call: int = 1, calls: int = CALLS) -> list[float]:
    sample(run, calls)
    return [sample(run, calls) / per_call * 1e6 for _ in range(rounds)]


def direct_call(rounds: int) -> list[float]:
    """`kernel(a, b, c)` on three arrays."""
    a, b, c = arrays = _arrays(ELEMENTS)
    add_vectors(a, b, c)
    _checked(arrays)
    return _microseconds(lambda: add_vectors(a, b, c), rounds)


def _alternating(rounds: int) -> list[float]:
    a, b, c = first = _arrays(ELEMENTS)
    d, e, f = second = _arrays(ELEMENTS + 1)

    def both() -> None:
        add_vectors(a, b, c)
        add_vectors(d, e, f)

    both()
    _checked(first)
    _checked(second)
    return _microseconds(both, rounds, per_call=2)


def _through_a_stream(count: int, rounds: int) -> list[float]:
    """A dispatch of `count` in a row, from the first to the end of the last."""
    device = tw.create_device("simd")
    shader = tile.compile(device, add_vectors.capture(*[tile.tensor_shape(ELEMENTS)] * 3))
    arrays = _arrays(ELEMENTS)
    a, b, c = (device.create_buffer(tile.f32, ELEMENTS) for _ in arrays)
    stream = device.create_stream()
    stream << a.copy_from(arrays[0]) << b.copy_from(arrays[1]) << tw.synchronize()

    def launch() -> None:
        for _ in range(count):
            stream << shader(a, b, c).dispatch()
        stream << tw.synchronize()

    launch()
    stream << c.copy_to(arrays[2]) << tw.synchronize()
    _checked(arrays)
    return _microseconds(launch, rounds, per_call=count)


def _in_parallel(task: str, rounds: int) -> list[float]:
    launch, count = launches(task, 2), 10_000
    return _microseconds(lambda: launch(count), rounds, per_call=count, calls=1)


def _cost(name: str, measure: Callable[[int], list[float]], limit: float, threads: int = 0) -> Cost:
    return Cost(
        name=name, group="launches", unit="µs", measure=measure, bars=(Bar(limit),), threads=threads, quick=True
    )


ROWS: tuple[Row, ...] = (
    _cost(f"add of {ELEMENTS}, direct call", direct_call, 1.0),
    _cost(f"add of {ELEMENTS}, two signatures in turn", _alternating, 1.0),
    # two threads: the caller's, and the stream's where it needs one
    _cost(f"add of {ELEMENTS}, through a stream", partial(_through_a_stream, 1000), 5.0, threads=2),
    _cost(f"add of {ELEMENTS}, through a stream, each waited for", partial(_through_a_stream, 1), 5.0, threads=2),
    _cost("launch of two empty tasks", partial(_in_parallel, "nothing"), 2.0, threads=2),
    _cost("launch of two tasks that meet", partial(_in_parallel, "meet"), 2.0, threads=2),
)
