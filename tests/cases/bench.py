"""How a case is run on one route: arrays between guard bands, poisoned outputs, two launches with different inputs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np

from tilewright import interp
from tilewright.core.errors import TilewrightError
from tilewright.numerics.arrays import from_numpy
from tilewright.tile import Lowering, TileKernel, XirOptions, tensor_shape

__all__ = [
    "GUARD",
    "In",
    "Interpreter",
    "LateError",
    "Machine",
    "MismatchError",
    "Out",
    "Raw",
    "Route",
    "ThroughTvm",
    "check",
    "ramps",
]

GUARD = -731.25
FOUND_BY_A_RUN = frozenset({340, 341, 342, 343})  # outside, two programs at one cell, never written, division by zero
_PADS = (13, 17, 19, 23, 29, 31, 37)

Array = Any  # arrays of every element type meet here
Launch = Callable[[Sequence[Array | None]], None]
Model = Callable[[Any], Any] | Callable[[Any, Any], Any] | Callable[[Any, Any, Any], Any]


class MismatchError(Exception):
    """A wrong answer, a changed input, or a write outside the output."""


class LateError(Exception):
    """A refusal after something was written."""


class Route(Protocol):
    """One way to run a kernel on arrays; `handle` is made once and launched again and again."""

    name: str
    brief: bool
    """Whether large arrays are tried once, with fewer tile sizes."""

    def handle(self, kernel: TileKernel, arrays: Sequence[Array | None], config: Mapping[str, object]) -> Launch: ...


class Interpreter:
    """The meaning of the program; every second launch takes the instances of a parallel in reverse."""

    name = "interpreter"

    def __init__(self, *, brief: bool = True) -> None:
        self.brief = brief

    def handle(self, kernel: TileKernel, arrays: Sequence[Array | None], config: Mapping[str, object]) -> Launch:
        shapes = [None if array is None else _shape(array) for array in arrays]
        captured = kernel.capture(*shapes, **config)
        launches: list[int] = []

        def launch(given: Sequence[Array | None]) -> None:
            launches.append(1)
            present = [array for array in given if array is not None]
            interp.run(captured, present, order="reverse" if len(launches) % 2 == 0 else None)

        return launch


class Machine:
    """Direct calls: machine code on the threads of this process, planned as `xir` asks for."""

    name = "cpu"
    brief = False

    def __init__(self, xir: XirOptions | None = None) -> None:
        self._xir = xir

    def handle(self, kernel: TileKernel, arrays: Sequence[Array | None], config: Mapping[str, object]) -> Launch:
        planned = kernel if self._xir is None else kernel.with_options(xir=self._xir)
        return lambda given: planned(*given, **config)


class ThroughTvm:
    """Direct calls with the lowering TIRX, whose loops are plain: the largest cases are shortened."""

    name = "tirx"
    brief = True

    def handle(self, kernel: TileKernel, arrays: Sequence[Array | None], config: Mapping[str, object]) -> Launch:
        planned = kernel.with_options(lowering=Lowering.TIRX)
        return lambda given: planned(*given, **config)


def _shape(array: Array) -> Any:
    steps = [step // array.itemsize for step in array.strides]
    plain = array.flags.c_contiguous
    return tensor_shape(*array.shape, dtype=from_numpy(array.dtype), strides=None if plain else steps)


@dataclass(frozen=True)
class In:
    """An argument that is read. It must come back as it was, and so must what lies around it."""

    value: Array


@dataclass(frozen=True)
class Raw:
    """An argument that is read and passed as it is: a strided view, something with DLPack, None."""

    value: Any


@dataclass(frozen=True)
class Out:
    """An argument that is written: NaN before the launch (`start` where the old values matter), `answer` after."""

    answer: Array
    start: Array | None = None


Argument = In | Out | Raw


def check(
    route: Route,
    kernel: TileKernel,
    *arguments: Argument,
    again: Model | None = None,
    within: float = 0.0,
    once: bool = False,
    **config: object,
) -> None:
    """Launches twice and compares. `again` computes the answers from changed inputs, in the order of the parameters;
    without it the second launch repeats the first. `once` is for a brief route on the largest inputs.
    """
    first = [_Placed(argument, place) for place, argument in enumerate(arguments)]
    launch = _refusing(first, lambda: route.handle(kernel, [one.array for one in first], config))
    _launch(launch, first, within, kernel.name)
    if once:
        return
    second = first if again is None else _changed(arguments, again)
    for one in second:
        one.reset()
    _launch(launch, second, within, f"{kernel.name}, launched again")


def _launch(launch: Launch, placed: Sequence["_Placed"], within: float, what: str) -> None:
    _refusing(placed, lambda: launch([one.array for one in placed]))
    for place, one in enumerate(placed):
        problem = one.problem(within)
        if problem:
            raise MismatchError(f"{what}: argument {place}: {problem}")


def _refusing(placed: Sequence["_Placed"], step: Callable[[], Any]) -> Any:
    """Runs a step. A refusal must leave every output as it was, but for what only a run can find."""
    try:
        return step()
    except TilewrightError as error:
        if error.diagnostic.code.number not in FOUND_BY_A_RUN and any(one.touched() for one in placed):
            raise LateError(str(error)) from error
        raise


def _changed(arguments: Sequence[Argument], again: Model) -> list["_Placed"]:
    inputs: tuple[Any, ...] = tuple(_other(one.value) for one in arguments if isinstance(one, In))
    answers = again(*inputs)  # pyright: ignore[reportCallIssue]  it takes as many as the kernel reads
    results = iter(cast("tuple[Any, ...]", answers) if isinstance(answers, tuple) else (answers,))
    given = iter(inputs)
    changed: list[Argument] = []
    for one in arguments:
        if isinstance(one, In):
            changed.append(In(next(given)))
        elif isinstance(one, Out):
            changed.append(Out(np.asarray(next(results)).astype(one.answer.dtype), one.start))
        else:
            changed.append(one)
    return [_Placed(one, place + 2) for place, one in enumerate(changed)]


def _other(value: Array) -> Array:
    """Other values of the same kind: the elements moved by one place, or doubled where that changes nothing."""
    moved = np.roll(value, 1)
    if value.size and moved.tobytes() == value.tobytes():
        return ~value if value.dtype.kind == "b" else value + value
    return moved


class _Placed:
    """One argument in memory: between guard bands, at an offset of its own."""

    def __init__(self, argument: Argument, place: int) -> None:
        self._argument = argument
        if isinstance(argument, Raw):
            self.array: Any = argument.value
            return
        value = argument.value if isinstance(argument, In) else argument.answer
        pad = _PADS[place % len(_PADS)]
        self._memory = _guards(value.size + 2 * pad, value.dtype)
        self._inside = slice(pad, pad + value.size)
        self.array = self._memory[self._inside].reshape(value.shape)
        self.reset()

    def reset(self) -> None:
        argument = self._argument
        if isinstance(argument, In):
            self.array[...] = argument.value
        elif isinstance(argument, Out):
            self.array[...] = _poison(self.array.dtype) if argument.start is None else argument.start
        self._before = b"" if isinstance(argument, Raw) else self._memory.tobytes()

    def touched(self) -> bool:
        return not isinstance(self._argument, Raw) and self._memory.tobytes() != self._before

    def problem(self, within: float) -> str:
        """What is wrong after a launch; empty when nothing is."""
        argument = self._argument
        if isinstance(argument, Raw):
            return ""
        if isinstance(argument, In):
            return "a read-only argument or its surroundings changed" if self.touched() else ""
        before = np.frombuffer(self._before, self._memory.dtype)
        start, stop = self._inside.start, self._inside.stop
        for side in (slice(0, start), slice(stop, None)):
            if before[side].tobytes() != self._memory[side].tobytes():
                return "the guard band changed"
        return difference(self.array, argument.answer, within)


def _guards(count: int, dtype: Any) -> Array:
    kind = np.dtype(dtype)
    if kind.kind == "b" or kind.itemsize == 1:
        return np.full(count, 0x55, np.uint8).view(kind)
    return np.full(count, GUARD).astype(kind)


def _poison(dtype: Any) -> Any:
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return True
    if kind.kind in "iu":
        return np.iinfo(kind).max
    return np.asarray(np.nan).astype(kind)


def difference(got: Array, want: Array, within: float = 0.0) -> str:
    """Where two arrays differ by more than `within`, absolute and relative; empty when nowhere."""
    wide = np.int64 if np.dtype(got.dtype).kind in "iub" else np.float64
    a, b = got.astype(wide), np.asarray(want).astype(got.dtype).astype(wide)
    if got.dtype == np.uint64:
        a, b = got, np.asarray(want).astype(np.uint64)
    with np.errstate(invalid="ignore", over="ignore"):
        same = np.asarray(a == b)
        if within:
            same |= np.abs(a - b) <= within + within * np.abs(b)
        if wide is np.float64:
            same |= np.isnan(a) & np.isnan(b)
    if same.all():
        return ""
    at = tuple(int(each) for each in np.argwhere(~same)[0]) if same.ndim else ()
    return (
        f"{int((~same).sum())} of {same.size} elements differ, first at {list(at)}: {got[at]!r}, right is {want[at]!r}"
    )


def floats(values: Any) -> Array:
    """An array of f32."""
    return np.asarray(values, np.float32)


def ints(values: Any) -> Array:
    """An array of i32."""
    return np.asarray(values, np.int32)


def longs(values: Any) -> Array:
    """An array of i64."""
    return np.asarray(values, np.int64)


def ramps(M: int, K: int, N: int) -> tuple[Array, Array]:
    """A[i, k] = (7i + 3k) mod 11 and B[k, j] = (5k + 2j) mod 13: every product and sum is exact in f32."""
    i, k, j = np.arange(M)[:, None], np.arange(K), np.arange(N)
    return ((7 * i + 3 * k) % 11).astype("f4"), ((5 * k[:, None] + 2 * j) % 13).astype("f4")


def blocks(own: int, route: Route | None = None) -> Iterator[int]:
    """The tile sizes of a case: its own, and the four every case is tried with; on a brief route its own and the
    largest.
    """
    yield own
    if route is not None and route.brief:
        yield from {64} - {own}
        return
    yield from (size for size in (16, 32, 48, 64) if size != own)
