"""Helpers, globals, closures, optional arguments, and what the front end refuses."""

import importlib
import importlib.util
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import tilewright as tw
from tests.cases.bench import In, MismatchError, Out, Raw, Route, check, difference, floats
from tests.cases.section_edges import copy, copy_rows, ramp
from tests.cases.section_numbers import FAST_WITHOUT_NAN, without_nan
from tests.cases.table import Tag, case
from tilewright import tile
from tilewright.tile import (
    ConstView1,
    View1,
    View2,
    axis,
    cast,
    coord,
    f32,
    i32,
    layout,
    memory,
    parallel,
    scalar,
    shape,
    tensor_shape,
    zeros,
)  # fmt: skip

SCALE = 2.0
helpers: Any = None  # the module that a case writes, edits and loads again


@tile.kernel
def helped(X: ConstView1[f32], Y: View1[f32]):
    e = axis("e", X.shape[0])
    for _ in parallel(shape(1)):
        Y.at(coord(0), shape(e)).store(helpers.twist(X[coord(0), shape(e)]))


def _loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("tilewright_case_helpers", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


_FRESH = """
import sys
from pathlib import Path
from tests.cases import section_front
from tests.cases.bench import Interpreter, Machine
section_front.helpers = section_front._loaded(Path(sys.argv[1]))
section_front.helped_gives(Interpreter() if sys.argv[2] == "interpreter" else Machine(), 2.0)
"""


def helped_gives(route: Route, amount: float) -> None:
    check(route, helped, In(ramp(20)), Out(ramp(20) + amount), again=lambda x: x + amount)


@case("C59", Tag.MUST, "an edited helper of another module, here and in a fresh process")
def c59(route: Route) -> None:
    sys.dont_write_bytecode = True
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case_helpers.py"
        for amount in (1, 2):
            path.write_text(f"def twist(x):\n    return x + {amount}.0\n")
            globals()["helpers"] = _loaded(path)
            helped_gives(route, float(amount))
        subprocess.run([sys.executable, "-c", _FRESH, str(path), route.name], check=True, cwd=Path.cwd())


@tile.kernel
def scaled(X: ConstView1[f32], Y: View1[f32]):
    e = axis("e", X.shape[0])
    for _ in parallel(shape(1)):
        Y.at(coord(0), shape(e)).store(X[coord(0), shape(e)] * SCALE)


@case("C60", Tag.EITHER, "a module global that changes")
def c60(route: Route) -> None:
    for factor in (2.0, 3.0, 2.0):
        globals()["SCALE"] = factor
        check(route, scaled, In(ramp(9)), Out(factor * ramp(9)))


@tile.kernel
def biased(X: ConstView1[f32], bias: ConstView1[f32] | None, Y: View1[f32]):
    e = axis("e", X.shape[0])
    for _ in parallel(shape(1)):
        x = X[coord(0), shape(e)]
        Y.at(coord(0), shape(e)).store(x if bias is None else x + bias[coord(0), shape(e)])


@case("C61", Tag.MUST, "an optional bias: none, ones, none")
def c61(route: Route) -> None:
    for bias in (None, np.ones(9, "f4"), None):
        answer = ramp(9) if bias is None else ramp(9) + bias
        check(route, biased, In(ramp(9)), Raw(bias), Out(answer))


@case("C62", Tag.MUST, "strict, fast, strict in one process")
def c62(route: Route) -> None:
    x, answer = floats([1, np.nan, 3]), floats([1, 0, 3])
    check(route, without_nan, In(x), Out(answer))
    with suppress(tw.UnsupportedError):  # the pair may be refused
        check(route, FAST_WITHOUT_NAN, In(x), Out(answer))
    check(route, without_nan, In(x), Out(answer))


def _of_one_name(amount: float) -> Any:
    if amount > 0:

        @tile.kernel
        def twin(X: ConstView1[f32], Y: View1[f32]):
            for nest in parallel(shape(axis("i", X.shape[0]))):
                Y[nest.index()].store(X[nest.index()].load() + 1.0)
    else:

        @tile.kernel
        def twin(X: ConstView1[f32], Y: View1[f32]):
            for nest in parallel(shape(axis("i", X.shape[0]))):
                Y[nest.index()].store(X[nest.index()].load() * 5.0)

    return twin


def _over(table: list[int]) -> Any:
    @tile.kernel
    def looked_up(Y: View1[f32]):
        for nest in parallel(shape(axis("i", Y.shape[0]))):
            Y[nest.index()].store(scalar(f32, table[0]))

    return looked_up


@case("C64", Tag.MUST, "two kernels of one name, two closures over different tables")
def c64(route: Route) -> None:
    plus, times = _of_one_name(1), _of_one_name(-1)
    for _ in range(2):
        check(route, plus, In(ramp(9)), Out(ramp(9) + 1), again=lambda x: x + 1)
        check(route, times, In(ramp(9)), Out(ramp(9) * 5), again=lambda x: x * 5)
    for table in ([100], [200]):
        check(route, _over(table), Out(np.full(4, table[0], "f4")))


@tile.kernel
def unlike_arms(X: ConstView1[f32], Y: View1[f32]):
    for nest in parallel(shape(1)):
        if X[0].load() > 0.0:  # noqa: SIM108  the form of the report
            v = zeros(f32, shape(8))
        else:
            v = zeros(f32, shape(16))
        Y.at(coord(nest.index()), shape(8)).store(v)


@case("C68", Tag.REFUSE, "arms of an if that leave two types", says=("v", "8", "16"))
def c68(route: Route) -> None:
    check(route, unlike_arms, In(np.ones(1, "f4")), Out(np.zeros(8, "f4")))


@tile.kernel
def int_then_float(X: ConstView1[f32], Y: View1[f32]):
    for nest in parallel(shape(1)):
        acc = scalar(i32, 0)
        for step in nest.serial(shape(X.shape[0])):
            acc = acc + 0.5 * X[step.index()].load()
        Y[0].store(cast(f32, acc))


@tile.kernel
def literal_then_float(X: ConstView1[f32], Y: View1[f32]):
    for nest in parallel(shape(1)):
        acc = 0
        for step in nest.serial(shape(X.shape[0])):
            acc += 0.5 * X[step.index()].load()
        Y[0].store(acc)


@case("C69", Tag.EITHER, "an int that becomes a float in a loop", says=("acc",))
def c69(route: Route) -> None:
    check(route, int_then_float, In(np.arange(1, 5, dtype="f4")), Out(floats([5])))


@case("C69 literal", Tag.EITHER, "a literal 0 that becomes a float in a loop", says=("acc",))
def c69_literal(route: Route) -> None:
    check(route, literal_then_float, In(np.arange(1, 5, dtype="f4")), Out(floats([5])))


@tile.kernel
def filled_exactly(X: ConstView1[f32], Y: View1[f32]):
    e = axis("e", X.shape[0])
    for _ in parallel(shape(1)):
        Y.at(coord(0), shape(e)).store(X.at(coord(0), shape(e)).load(fill=3.0))


@case("C70", Tag.EITHER, "a fill on an exact tile")
def c70(route: Route) -> None:
    check(route, filled_exactly, In(ramp(16)), Out(ramp(16)), again=lambda x: x)


@tile.kernel
def folded_memory(X: ConstView1[f32], Y: View2[f32]):
    i, j = axis("i", 4), axis("j", 4)
    for _ in parallel(shape(1)):
        local = memory(f32, layout(shape(i, j), strides=(1, 1)))
        local.store(zeros(f32, shape(i, j)))
        Y.at(coord(0, 0), shape(i, j)).store(local.load())


@case("C71", Tag.REFUSE, "a layout (i, j) -> i + j", says=("(0, 1)", "(1, 0)"))
def c71(route: Route) -> None:
    check(route, folded_memory, In(ramp(4)), Out(np.zeros((4, 4), "f4")))


@case("C72", Tag.MUST, "copies in tiles 48 wide")
def c72(route: Route) -> None:
    for width in (96, 100):
        x = ramp(4 * width).reshape(4, width)
        for columns in (48, 16, 32, 64):
            check(route, copy_rows, In(x), Out(x), again=lambda v: v, rows=4, columns=columns)


@tile.kernel
def into(Y: View1[f32], X: ConstView1[f32], *, block: int = 4):
    e = axis("e", block)
    for nest in parallel(shape(axis("g", -(-X.shape[0] // block)))):
        here = coord(nest.index() * block)
        Y.at(here, shape(e)).store(X[here, shape(e)])


@case("C73", Tag.MUST, "the result is the first parameter")
def c73(route: Route) -> None:
    for n in (5, 9):
        for block in (4, 16, 32, 48, 64):
            check(route, into, Out(ramp(n)), In(ramp(n)), again=lambda x: x, block=block)


@case("C74 rank", Tag.REFUSE, "a 2-D array for a 1-D parameter", says=("X", "1 axis", "2 axes"))
def c74_rank(route: Route) -> None:
    check(route, copy, In(np.zeros((2, 3), "f4")), Out(np.zeros(6, "f4")), block=4)


@case("C74 dtype", Tag.REFUSE, "another element type", says=("X", "f32", "f64"))
def c74_dtype(route: Route) -> None:
    check(route, copy, In(np.zeros(6, "f8")), Out(np.zeros(6, "f4")), block=4)


@case("C74 device", Tag.REFUSE, "a buffer of another device", says=("X",))
def c74_device(route: Route) -> None:
    """The shader is of one device, its first buffer of another. (The interpreter has no devices: the same refusal.)"""
    device, other = tw.create_device("simd"), tw.create_device("simd")
    shader = tile.compile(device, copy.capture(tensor_shape(6), tensor_shape(6), block=4))
    shader(other.create_buffer(f32, 6), device.create_buffer(f32, 6))


@case("C74 stream", Tag.MUST, "the same buffers on one device")
def c74_stream(route: Route) -> None:
    device, out = tw.create_device("simd"), np.full(6, np.nan, "f4")
    shader = tile.compile(device, copy.capture(tensor_shape(6), tensor_shape(6), block=4))
    a, b, stream = device.create_buffer(f32, 6), device.create_buffer(f32, 6), device.create_stream()
    for shift in (0, 1):
        stream << a.copy_from(ramp(6) + shift) << shader(a, b).dispatch() << b.copy_to(out) << tw.synchronize()
        problem = difference(out, ramp(6) + shift)
        if problem:
            raise MismatchError(problem)
