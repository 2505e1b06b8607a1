"""One random kernel on both routes: the same arrays, guard bands around what is written, twice with other inputs."""

import linecache
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

import tilewright as tw
from tests.random.scope import Argument, Program
from tilewright import interp, tile
from tilewright.core.dtypes import by_name
from tilewright.core.errors import TilewrightError
from tilewright.numerics.arrays import numpy_dtype
from tilewright.tile import Kernel, Lowering, TileKernel, TirxOptions, XirOptions, scalar_shape, tensor_shape

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
    return kernel.capture(*(tensor_shape(*each.shape) if each.shape else scalar_shape() for each in arguments))


def disagreement(
    program: Program, seed: int = 0, *, launches: int = 2, xir: XirOptions | None = None,
    tirx: TirxOptions | None = None,
) -> str:  # fmt: skip
    """Where the CPU and the interpreter differ; empty when they agree. A refusal of either is a disagreement too.
    With `tirx` the code comes through TVM.
    """
    kernel = compiled(program.source)
    step = "capture"
    try:
        ir = captured(kernel, program.arguments)
        step = "cpu"
        if tirx is not None:
            launch = _calls(kernel.with_options(lowering=Lowering.TIRX, tirx=tirx, cache=False))
        elif seed % 8 == 1:
            launch = _calls(kernel.with_options(xir=xir, cache=False))  # a call captures once more
        else:
            launch = _dispatches(ir, xir)
        for number in range(launches):
            rng = np.random.default_rng([seed, number])
            arrays = [_array(rng, each) for each in program.arguments]
            banded = [_banded(array) for array in arrays]
            step = "interpreter"
            interp.run(ir, arrays)
            step = "cpu"
            launch(banded)
            found = _difference(program, arrays, banded)
            if found:
                return f"launch {number}: {found}"
    except TilewrightError as error:
        return f"{step}: {error}"
    return ""


Launch = Callable[[Sequence[tuple[Array, Array]]], None]


def _calls(kernel: TileKernel) -> Launch:
    """Calls on the arrays."""
    return lambda banded: kernel(*(inside for _, inside in banded))


def _dispatches(ir: Kernel, xir: XirOptions | None) -> Launch:
    """Dispatches on a stream; every array is a view inside of its buffer."""
    device, stream = _device()
    shader = tile.compile(device, ir, xir=xir, cache=False)
    dtypes = [each.element for each in ir.parameters]

    def launch(banded: Sequence[tuple[Array, Array]]) -> None:
        given: list[Any] = []
        back: list[Any] = []
        for dtype, (memory, inside) in zip(dtypes, banded, strict=True):
            if not inside.shape:
                given.append(inside)
                continue
            buffer = device.create_buffer(dtype, memory.size)
            stream << buffer.copy_from(memory)
            given.append(buffer[_BAND : memory.size - _BAND])
            back.append(buffer.copy_to(memory))
        stream << shader(*given).dispatch()
        for command in back:
            stream << command
        stream << tw.synchronize()

    return launch


@cache
def _device() -> tuple[tw.Device, tw.Stream]:
    device = tw.create_device("simd")
    return device, device.create_stream()


def _array(rng: np.random.Generator, argument: Argument) -> Array:
    """Small halves and whole numbers; what is only written holds -7 at first."""
    dtype = by_name(argument.dtype)
    kind = numpy_dtype(dtype)
    if not argument.const and argument.name.startswith("Y"):
        return np.full(argument.shape, 7).astype(kind)
    numbers: Array = rng.integers(-12, 13, argument.shape) / (2 if dtype.is_float else 1)
    if dtype.kind == "bool":
        return rng.random(argument.shape) < 0.5
    return (abs(numbers) if dtype.kind == "uint" else numbers).astype(kind)


def _banded(array: Array) -> tuple[Array, Array]:
    count: int = (array.size + 2 * _BAND) * array.itemsize
    memory = np.full(count, 0x55, np.uint8).view(array.dtype)
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
