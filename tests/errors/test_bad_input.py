"""Bad input ends in a coded error that names the user's line, and no byte of any array or buffer has changed."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.errors.harness import provoke
from tilewright import runtime
from tilewright.tile import f32

SETUP = """\
import numpy as np
import tilewright as tw
from tilewright import tile
from tilewright.tile import *

"""

KERNEL = """\
@tile.kernel{options}
def k(A: ConstView2[f32], C: View2[f32], *, window: int = 2):
    m, n = axis("m", 4), axis("n", 8)
    for nest in parallel(shape(axis("g", 2))):
        a = A[coord(0, 0), shape(m, n)]
{body}

"""

COPY = KERNEL.format(body="        C.at(coord(nest.index() * 4, 0), shape(m, n)).store(a)", options="")
KEEPING = COPY.replace(".store(a)", ".store(exp(a) / reduce(exp(a), n, add))")  # needs a buffer for what is used twice


@dataclass(frozen=True)
class Case:
    """A program that must end with `code` on a line that ends in `# here`."""

    code: str
    program: str


def calling(code: str, *body: str) -> Case:
    """A kernel with these lines in its root, called on arrays: what is wrong with it is told at its own line."""
    lines = ["C.at(coord(nest.index() * 4, 0), shape(m, n)).store(a)", *body]
    return Case(code, KERNEL.format(body="\n".join(f"        {line}" for line in lines), options="") + "k(A, C)\n")


def compiling(code: str, arguments: str, program: str = COPY) -> Case:
    """The kernel is right, what is asked of its compilation is not: told at the call, its kernel or its root."""
    text = program.replace("@tile.kernel", "@tile.kernel  # here").replace("2))):", "2))):  # here")
    capture = "kernel = k.capture(tensor_shape(8, 8), tensor_shape(8, 8))\n"
    return Case(code, f"{text}{capture}tile.compile(device, kernel, {arguments})  # here\n")


def using(code: str, line: str) -> Case:
    """The kernel is right, the arguments of a call or a dispatch are not."""
    shader = "shader = tile.compile(device, k.capture(tensor_shape(8, 8), tensor_shape(8, 8)))\n"
    return Case(code, f"{COPY}{shader}{line}  # here\n")


NO_ROOT = """\
@tile.kernel  # here
def k(A: ConstView2[f32], C: View2[f32]):
    C.at(coord(0, 0), shape(axis("m", 4), axis("n", 8))).store(zeros(f32, shape(4, 8)))

k(A, C)
"""

CASES = {
    "an array of another rank": using("TW218", "k(A, C[0])"),
    "an array of another dtype": using("TW218", "k(A.astype('f8'), C)"),
    "an array that is read-only": using("TW218", "k(A, np.broadcast_to(C, (8, 8)))"),
    "an array of another device": using("TW652", "k(OnGPU(), C)"),
    "a buffer of another dtype": using("TW632", "shader(a.view().as_type(i32), c)"),
    "a buffer of another device": using("TW631", "shader(other, c)"),
    "a buffer without the footprint": using("TW633", "shader(a, c[:63])"),
    "views that overlap where the route promised that they do not": using("TW634", "promising(shader)(a, a)"),
    "views that overlap in one element": using("TW634", "promising(shader)(double[:64], double[63:])"),
    "too few buffers": using("TW629", "shader(a)"),
    "a host array as a buffer": using("TW630", "shader(a, C)"),
    "no root": Case("TW121", NO_ROOT),
    "a root inside of a root": calling("TW123", "for inner in parallel(shape(n)):  # here", "    pass"),
    "state that escapes a parallel": calling(
        "TW301",
        "total = scalar(f32, 0.0)",
        "for inner in nest.parallel(shape(m)):",
        "    total = total + a.at(coord(inner.index(), 0))  # here",
    ),
    "memory of outside written in a parallel": calling(
        "TW302",
        "kept = memory(f32, shape(m, n))",
        "for inner in nest.parallel(shape(2)):",
        "    kept.store(a)  # here",
    ),
    "a carried type that changes": calling(
        "TW211",
        "acc = zeros(f32, shape(m, n))",
        "for step in nest.serial(shape(4)):",
        "    acc = cast(f16, acc + a)  # here",
    ),
    "an if on a staged tile": calling("TW224", "if a > 0.0:", "    C[0, 0].store(1.0)  # here"),
    "a jump out of an if on a staged value": calling(
        "TW113", "for i in range(4):", "    if a.at(coord(0, i)) > 0.0:  # here", "        break"
    ),
    "a while on a staged value": calling("TW114", "i = nest.index()", "while i < 4:  # here", "    i = i + 1"),
    "a host variable rebound in a region": calling(
        "TW116",
        "acc = 0",
        "for step in nest.serial(shape(n)):",
        "    acc = acc + a.at(coord(0, step.index()))  # here",
    ),
    "a value of a region after it closed": calling(
        "TW103",
        "for step in nest.serial(shape(n)):",
        "    last = a.at(coord(0, step.index()))",
        "C[0, 0].store(last)  # here",
    ),
    "mma of axes that do not match": calling(
        "TW212",
        'k = axis("k", 8)',
        "b = A[coord(0, 0), shape(k, n)]",
        "c = mma(a, b, zeros(f32, shape(m, n)))  # here",
    ),
    "a store through a const view": calling("TW351", "A.at(coord(0, 0), shape(m, n)).store(a)  # here"),
    "a store that every program makes": calling("TW350", "C[0, 0].store(a.at(coord(0, 0)))  # here"),
    "a layout of two elements in one cell": calling(
        "TW281", "kept = memory(f32, layout(shape(m, n), strides=(1, 1)))  # here", "kept.store(a)"
    ),
    "a window of 0": calling("TW130", "for step in nest.pipeline(shape(n), window=0):  # here", "    pass"),
    "an interval of 0": calling("TW130", "for step in nest.pipeline(shape(n), interval=0):  # here", "    pass"),
    "a plan space over its budget": compiling("TW428", "xir=tile.XirOptions(max_candidates=1)"),
    "scratch over its budget": compiling("TW429", "xir=tile.XirOptions(max_scratch_bytes=0)", KEEPING),
    "operations over their budget": compiling("TW430", "xir=tile.XirOptions(max_operations=3)"),
    "constraints that contradict": compiling("TW427", "xir=tile.XirOptions(block_size=32), threads_per_group=64"),
    "a plan option out of range": compiling("TW426", "xir=tile.XirOptions(fold_partials=0)"),
    "a compile-only request": compiling("TW402", "compile_only=True"),
    "options of the second lowering": compiling("TW404", "tirx=tile.TirxOptions()"),
    "a field of another target in them": compiling("TW473", "tirx=tile.TirxOptions(metal_mpp=True)"),
    "fast functions in the second lowering": compiling("TW406", "lowering=tile.Lowering.TIRX, fast_math=True"),
}


class OnGPU:
    """A tensor of another device, as far as DLPack tells."""

    def __dlpack__(self, **_: object) -> object:
        raise AssertionError("the device is asked first")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


class Promise:
    """A native shader of a route that relies on disjoint writes."""

    def __init__(self, native: Any) -> None:
        self.native, self.metadata = native, replace(native.metadata, disjoint_writes=True)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.native, name)


def promising(device: tw.Device, shader: runtime.Shader) -> runtime.Shader:
    native: Any = Promise(shader.native)
    return runtime.Shader(device, native)


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_told_at_its_line_and_touches_nothing(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    A, C, host = (np.full((8, 8), 7, np.float32) for _ in range(3))
    device, elsewhere = tw.create_device("simd"), tw.create_device("simd")
    a, c, other = device.create_buffer(f32, 64), device.create_buffer(f32, 64), elsewhere.create_buffer(f32, 64)
    stream = device.create_stream()
    stream << a.copy_from(host) << c.copy_from(host) << tw.synchronize()
    names: dict[str, Any] = {"A": A, "C": C, "a": a, "c": c, "device": device, "other": other, "OnGPU": OnGPU}
    names["double"] = device.create_buffer(f32, 127)
    names["promising"] = partial(promising, device)
    error = provoke(SETUP + case.program, tmp_path, **names)
    assert error.diagnostic.code.id == case.code, str(error)
    assert error.diagnostic.why
    assert error.diagnostic.help
    span = error.diagnostic.span
    assert span.file == str(tmp_path / "case.py"), str(error)
    assert (SETUP + case.program).splitlines()[span.line - 1].endswith("# here"), str(error)
    for buffer in (a, c):
        after = np.zeros((8, 8), np.float32)
        stream << buffer.copy_to(after) << tw.synchronize()
        assert (after == 7).all()
    assert (A == 7).all()
    assert (C == 7).all()
