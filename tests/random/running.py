"""One random kernel on both routes: the same arrays, guard bands around what is written, twice with other inputs."""

import linecache
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.random.scope import Argument, Program
from tilewright import interp
from tilewright.core.dtypes import by_name
from tilewright.core.errors import TilewrightError
from tilewright.numerics.arrays import numpy_dtype
from tilewright.tile import TileKernel, tensor_shape

__all__ = ["captured", "compiled", "disagreement"]

_BAND = 8
Array = Any


def compiled(source: str, name: str = "<random kernel>") -> TileKernel:
    """The kernel of a text. Its lines are known to `linecache`, since capture reads the source of functions."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"__name__": "tests.random.generated"}
    exec(compile(source, name, "exec"), namespace)
    return namespace["program"]


def captured(kernel: TileKernel, arguments: Sequence[Argument]) -> Any:
    return kernel.capture(*(tensor_shape(*each.shape) for each in arguments))


def disagreement(program: Program, seed: int = 0) -> str:
    """Where the CPU and the interpreter differ; empty when they agree. A refusal of either is a disagreement too."""
    kernel = compiled(program.source)
    try:
        ir = captured(kernel, program.arguments)
    except TilewrightError as error:
        return f"capture: {error}"
    for launch in range(2):
        rng = np.random.default_rng([seed, launch])
        arrays = [_array(rng, each) for each in program.arguments]
        banded: list[tuple[Array, Array]] = [_banded(array) for array in arrays]
        try:
            interp.run(ir, arrays)
        except TilewrightError as error:
            return f"interpreter: {error}"
        try:
            kernel(*(inside for _, inside in banded))
        except TilewrightError as error:
            return f"cpu: {error}"
        found = _difference(program, arrays, banded)
        if found:
            return f"launch {launch}: {found}"
    return ""


def _array(rng: np.random.Generator, argument: Argument) -> Array:
    """Small halves and whole numbers; what is only written holds -7 at first."""
    dtype = by_name(argument.dtype)
    kind = numpy_dtype(dtype)
    if not argument.const and argument.name.startswith("Y"):
        return np.full(argument.shape, 7).astype(kind)
    numbers: Array = rng.integers(-12, 13, argument.shape) / (2 if dtype.is_float else 1)
    if dtype.kind == "bool":
        return rng.random(argument.shape) < 0.5
    return np.asarray(np.abs(numbers) if dtype.kind == "uint" else numbers).astype(kind)


def _banded(array: Array) -> tuple[Array, Array]:
    memory = np.frombuffer(np.full((array.size + 2 * _BAND) * array.itemsize, 0x55, np.uint8), array.dtype).copy()
    inside = memory[_BAND : _BAND + array.size].reshape(array.shape)
    inside[...] = array
    return memory, inside


def _difference(program: Program, arrays: Sequence[Array], banded: Sequence[tuple[Array, Array]]) -> str:
    for argument, want, (memory, got) in zip(program.arguments, arrays, banded, strict=True):
        for side in (memory[:_BAND], memory[memory.size - _BAND :]):
            if set(side.tobytes()) - {0x55}:
                return f"the guard band of {argument.name} changed"
        a, b = (each.astype("f8") if by_name(argument.dtype).is_float else each for each in (want, got))
        same = np.asarray(a == b)
        if by_name(argument.dtype).is_float:
            same = same | (np.isnan(a) & np.isnan(b))
        if not same.all():
            at = tuple(int(each) for each in np.argwhere(~same)[0])
            return f"{argument.name}{list(at)} is {got[at]!r}, the interpreter has {want[at]!r}"
    return ""
