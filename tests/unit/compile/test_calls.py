"""Direct calls: what is compiled when, for whom, and what is refused before any memory is touched."""

import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from tests.unit.compile.fakes import InterpretingDevice
from tests.unit.compile.test_compilation import double
from tilewright import tile
from tilewright.compile import TileKernel
from tilewright.core.errors import (
    CaptureError,
    DispatchError,
    TileTypeError,
    TilewrightError,
    UnsupportedError,
)
from tilewright.tile import (
    ConstView1,
    ConstView2,
    Lowering,
    View1,
    View2,
    XirOptions,
    axis,
    coord,
    f32,
    parallel,
    shape,
)

pytestmark = pytest.mark.usefixtures("interpreting")


@tile.kernel
def copy(x: ConstView2, y: View2):
    M, N = x.shape
    g, m, n = axis("g", 1), axis("m", M), axis("n", N)
    for nest in parallel(shape(g)):
        y.at(coord(nest.index(), 0), shape(m, n)).store(x[coord(nest.index(), 0), shape(m, n)])


@tile.kernel
def biased(x: ConstView1[f32], bias: ConstView1[f32] | None, y: View1[f32]):
    g, i = axis("g", 1), axis("i", x.shape[0])
    for nest in parallel(shape(g)):
        value = x[coord(nest.index()), shape(i)]
        if bias is not None:
            value = value + bias[coord(0), shape(i)]
        y.at(coord(nest.index()), shape(i)).store(value)


def ramp(n: int = 10) -> Any:
    return np.arange(n, dtype=np.float32)


def fresh(kernel: TileKernel) -> TileKernel:
    """The same kernel with no calls yet."""
    return kernel.with_options()


def test_a_call_works_in_the_callers_memory() -> None:
    x, y = ramp(), np.zeros(12, np.float32)
    double(x, y[1:11])
    assert y.tolist() == [0.0, *(2.0 * i for i in range(10)), 0.0]


def test_equal_signatures_compile_once(interpreting: InterpretingDevice) -> None:
    kernel = fresh(double)
    for _ in range(3):
        kernel(ramp(), np.zeros(10, np.float32))
        kernel(ramp(), y=np.zeros(10, np.float32), block=4)
    assert len(interpreting.compiled) == 1


def test_shape_dtype_and_configuration_are_the_signature(interpreting: InterpretingDevice) -> None:
    kernel = fresh(copy)
    for a in [np.ones((2, 3)), np.ones((3, 2)), np.ones((3, 2), np.int32), np.ones((3, 2), bool)]:
        result = np.zeros_like(a)
        kernel(a, result)
        assert np.array_equal(a, result)
    assert len(interpreting.compiled) == 4
    scaled = fresh(double)
    for block in [4, 5, 4, 5]:
        scaled(ramp(), np.zeros(10, np.float32), block=block)
    assert len(interpreting.compiled) == 6


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16, np.float64, np.uint8, np.int64, np.bool_])
def test_the_low_precision_types_and_booleans_are_taken(dtype: Any) -> None:
    a = np.array([[1, 0, 1]], dtype)
    result = np.zeros_like(a)
    copy(a, result)
    assert np.array_equal(a, result)


def test_configuration_is_told_apart_by_value_and_type(interpreting: InterpretingDevice) -> None:
    @tile.kernel
    def scaled(x: ConstView1[f32], y: View1[f32], *, by: Any):
        g, i = axis("g", 1), axis("i", x.shape[0])
        for nest in parallel(shape(g)):
            y.at(coord(nest.index()), shape(i)).store(x[coord(nest.index()), shape(i)] * by[0])

    for factor in ([2.0], [2.0], [2], (3.0,), [-0.0], [0.0]):
        y = np.zeros(3, np.float32)
        scaled(np.ones(3, np.float32), y, by=factor)
        assert y.tolist() == [factor[0]] * 3
        assert np.array_equal(np.signbit(y), np.signbit([float(factor[0])] * 3))
    assert len(interpreting.compiled) == 5


def test_configuration_matters_to_arrays_that_were_seen_before() -> None:
    @tile.kernel
    def scaled(x: ConstView1[f32], y: View1[f32], *, by: float = 2.0):
        g, i = axis("g", 1), axis("i", x.shape[0])
        for nest in parallel(shape(g)):
            y.at(coord(nest.index()), shape(i)).store(x[coord(nest.index()), shape(i)] * by)

    x, y = np.ones(3, np.float32), np.zeros(3, np.float32)
    for config, expected in [({"by": 3.0}, 3.0), ({}, 2.0), ({"by": 3.0}, 3.0), ({}, 2.0)]:
        scaled(x, y, **config)
        assert y.tolist() == [expected] * 3


def test_an_absent_optional_argument_is_a_signature_of_its_own(interpreting: InterpretingDevice) -> None:
    kernel = fresh(biased)
    y = np.zeros(10, np.float32)
    kernel(ramp(), None, y)
    assert np.array_equal(y, ramp())
    kernel(ramp(), np.ones(10, np.float32), y)
    assert np.array_equal(y, ramp() + 1)
    kernel(ramp(), None, y)
    assert np.array_equal(y, ramp())
    assert len(interpreting.compiled) == 2


def test_empty_arrays_are_a_call_like_any_other() -> None:
    double(ramp(0), ramp(0))
    copy(np.zeros((0, 4)), np.zeros((0, 4)))
    copy(np.zeros((4, 3))[::-1, 3:], np.zeros((4, 0)))
    double(RECORDS["value"][:0], ramp(0))


def test_axes_without_a_second_element_have_no_stride_that_matters(interpreting: InterpretingDevice) -> None:
    kernel = fresh(copy)
    result = np.zeros((1, 5), np.float32)
    kernel(np.ones((5, 1), np.float32).T, result)
    kernel(np.ones((2, 5), np.float32)[::-1][:1], result)
    kernel(np.ones((0, 5), np.float32)[::-1], np.zeros((0, 5), np.float32))
    assert len(interpreting.compiled) == 2


SCALE = 2.0


def test_a_changed_global_is_seen_by_the_next_call(monkeypatch: pytest.MonkeyPatch) -> None:
    @tile.kernel
    def scaled(x: ConstView1[f32], y: View1[f32]):
        g, i = axis("g", 1), axis("i", x.shape[0])
        for nest in parallel(shape(g)):
            y.at(coord(nest.index()), shape(i)).store(x[coord(nest.index()), shape(i)] * SCALE)

    y = np.zeros(3, np.float32)
    for factor in (2.0, 3.0, 3.0, 2.0):
        monkeypatch.setitem(globals(), "SCALE", factor)
        for _ in range(2):
            scaled(np.ones(3, np.float32), y)
            assert y.tolist() == [factor] * 3


def test_kernels_of_one_name_keep_their_own_closures() -> None:
    def make(factor: float) -> TileKernel:
        @tile.kernel
        def scaled(x: ConstView1[f32], y: View1[f32]):
            g, i = axis("g", 1), axis("i", x.shape[0])
            for nest in parallel(shape(g)):
                y.at(coord(nest.index()), shape(i)).store(x[coord(nest.index()), shape(i)] * factor)

        return scaled

    two, three = make(2.0), make(3.0)
    y = np.zeros(3, np.float32)
    for kernel, expected in [(two, 2.0), (three, 3.0), (two, 2.0), (three, 3.0)]:
        kernel(np.ones(3, np.float32), y)
        assert y.tolist() == [expected] * 3


def test_what_a_function_in_the_configuration_reads_is_watched() -> None:
    factor = 2.0

    def epilogue(value: Any) -> Any:
        return value * factor

    @tile.kernel
    def applied(x: ConstView1[f32], y: View1[f32], *, then: Callable[[Any], Any]):
        g, i = axis("g", 1), axis("i", x.shape[0])
        for nest in parallel(shape(g)):
            y.at(coord(nest.index()), shape(i)).store(then(x[coord(nest.index()), shape(i)]))

    y = np.zeros(3, np.float32)
    applied(np.ones(3, np.float32), y, then=epilogue)
    factor = 5.0
    applied(np.ones(3, np.float32), y, then=epilogue)
    assert y.tolist() == [5.0] * 3


def test_an_edited_source_file_is_refused(tmp_path: Any) -> None:
    file = tmp_path / "edited.py"
    source = (
        "from tilewright import tile\nfrom tilewright.tile import *\n"
        "@tile.kernel\ndef double(x: ConstView1[f32], y: View1[f32]):\n"
        "    i = axis('i', x.shape[0])\n"
        "    for nest in parallel(shape(i)):\n"
        "        y[nest.index()].store(x[nest.index()].load() * 2.0)\n"
    )
    file.write_text(source)
    module = ModuleType("edited")
    exec(compile(source, str(file), "exec"), module.__dict__)
    file.write_text(source.replace("2.0", "3.0"))
    with pytest.raises(CaptureError, match="TW106"):
        module.double(ramp(), ramp())


def test_threads_that_call_at_once_compile_once(interpreting: InterpretingDevice) -> None:
    kernel, count = fresh(double), 8
    results = [np.zeros(10, np.float32) for _ in range(count)]
    gate = threading.Barrier(count)

    def work(y: Any) -> None:
        gate.wait()
        kernel(ramp(), y)

    threads = [threading.Thread(target=work, args=(y,)) for y in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(y, 2 * ramp()) for y in results)
    assert len(interpreting.compiled) == 1


def test_a_failed_compilation_is_tried_again() -> None:
    kernel = fresh(double).with_options(xir=XirOptions(max_scratch_bytes=0, lanes=tile.element("nowhere")))
    for _ in range(2):
        with pytest.raises(TilewrightError, match="TW429"):
            kernel(ramp(), ramp())


READ_ONLY = ramp()
READ_ONLY.flags.writeable = False
RECORDS = np.zeros(10, [("tag", "u1"), ("value", "f4")])
SHIFTED = np.zeros(41, np.uint8)[1:].view(np.float32)

REFUSED: dict[str, tuple[Callable[[Any], None], str, type[TilewrightError]]] = {
    "too few": (lambda y: double(ramp()), "TW650", DispatchError),
    "too many": (lambda y: double(ramp(), y, y), "TW650", DispatchError),
    "an unknown keyword": (lambda y: double(ramp(), y, blok=4), "TW650", DispatchError),
    "a list": (lambda y: double([0.0] * 10, y), "TW651", DispatchError),
    "a number": (lambda y: double(1.0, y), "TW651", DispatchError),
    "a NumPy scalar": (lambda y: double(np.float32(1), y), "TW651", DispatchError),
    "None for what is not optional": (lambda y: double(None, y), "TW651", DispatchError),
    "a masked array": (lambda y: double(np.ma.masked_array(ramp(), ramp() > 4), y), "TW651", DispatchError),
    "a shape": (lambda y: double(tile.tensor_shape(10), y), "TW651", DispatchError),
    "objects": (lambda y: double(ramp().astype(object), y), "TW641", DispatchError),
    "foreign byte order": (lambda y: double(ramp().astype(">f4"), y), "TW641", DispatchError),
    "complex numbers": (lambda y: double(ramp().astype(complex), y), "TW641", DispatchError),
    "another element type": (lambda y: double(ramp().astype(np.float64), y), "TW218", TileTypeError),
    "another rank": (lambda y: double(ramp().reshape(2, 5), y), "TW218", TileTypeError),
    "no axes": (lambda y: double(np.array(1, np.float32), y), "TW218", TileTypeError),
    "a read-only result": (lambda y: double(ramp(), READ_ONLY), "TW218", TileTypeError),
    "negative strides": (lambda y: double(ramp()[::-1], y), "TW653", DispatchError),
    "strides of half elements": (lambda y: double(RECORDS["value"], y), "TW653", DispatchError),
    "a misaligned element": (lambda y: double(SHIFTED, y), "TW654", DispatchError),
    "a result that repeats its elements": (
        lambda y: copy(np.zeros((3, 10), np.float32), as_strided(y, (3, 10), (0, 4))),
        "TW421",
        UnsupportedError,
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_fit_is_refused_before_memory_is_touched(what: str) -> None:
    call, code, kind = REFUSED[what]
    y = np.full(10, 7, np.float32)
    with pytest.raises(kind) as error:
        call(y)
    assert error.value.diagnostic.code.id == code
    assert (y == 7).all()
    assert "test_calls.py" in str(error.value)


def test_a_kernel_is_no_helper_of_another() -> None:
    @tile.kernel
    def outer(x: ConstView1[f32], y: View1[f32]):
        double(x, y)

    with pytest.raises(DispatchError, match=r"TW651.*helper function"):
        outer(ramp(), ramp())


STRIDED = {
    "every other element": np.arange(24, dtype=np.float32).reshape(4, 6)[:, ::2],
    "columns first": np.arange(12, dtype=np.float32).reshape(3, 4).T,
    "rows apart": np.arange(24, dtype=np.float32).reshape(4, 6)[:, 1:4],
    "repeated elements": np.broadcast_to(np.arange(3, dtype=np.float32), (4, 3)),
}


@pytest.mark.parametrize("what", STRIDED)
def test_operands_may_lie_in_memory_in_any_order(what: str) -> None:
    result = np.zeros((4, 3), np.float32)
    copy(STRIDED[what], result)
    assert np.array_equal(result, STRIDED[what])


def test_results_may_lie_in_memory_in_any_order() -> None:
    memory = np.full((4, 6), 7, np.float32)
    copy(np.arange(12, dtype=np.float32).reshape(4, 3), memory[:, ::2])
    assert np.array_equal(memory[:, ::2], np.arange(12).reshape(4, 3))
    assert (memory[:, 1::2] == 7).all()


def test_a_refusal_after_a_good_call_of_the_same_look() -> None:
    """The fast path tells a read-only array from a writable one."""
    y = np.zeros(10, np.float32)
    double(ramp(), y)
    double(ramp(), y)
    double(READ_ONLY, y)
    y.flags.writeable = False
    with pytest.raises(TileTypeError, match="TW218"):
        double(ramp(), y)


def test_a_masked_array_is_told_from_an_array_of_the_same_look() -> None:
    y = np.zeros(10, np.float32)
    double(ramp()[:], y)
    with pytest.raises(DispatchError, match="TW651"):
        double(np.ma.masked_array(ramp(), ramp() > 4), y)


def test_subclasses_of_arrays_are_arrays() -> None:
    class Tagged(np.ndarray[Any, Any]):
        pass

    y = np.zeros(10, np.float32)
    for _ in range(2):
        double(ramp().view(Tagged), y.view(Tagged))
    assert np.array_equal(y, 2 * ramp())


def test_options_of_calls_make_another_kernel(interpreting: InterpretingDevice) -> None:
    other = double.with_options(name="twice", fast_math=True).with_options(threads_per_group=2)
    other(ramp(), np.zeros(10, np.float32))
    options = interpreting.compiled[-1][1]
    assert (options.name, options.fast_math, options.threads_per_group) == ("twice", True, 2)
    assert not double.compile_options.fast_math


def test_options_are_read_when_they_are_given() -> None:
    with pytest.raises(UnsupportedError, match="TW406"):
        double.with_options(check=False)
    with pytest.raises(UnsupportedError, match="TW405"):
        double.with_options(speed=1)  # type: ignore[call-arg]  # the point
    with pytest.raises(UnsupportedError, match="TW404"):
        double.with_options(lowering=Lowering.TIRX, xir=XirOptions())


def test_the_decorator_takes_options() -> None:
    @tile.kernel(name="named", fast_math=True)
    def function(x: ConstView1[f32]):
        i = axis("i", x.shape[0])
        for nest in parallel(shape(i)):
            x[nest.index()].load()

    assert repr(function) == "<tile kernel named>"
    assert function.compile_options.fast_math
    assert function.capture(tile.tensor_shape(3)).name == "named"


def test_explain_is_of_the_latest_call_or_of_the_given_arrays() -> None:
    kernel = fresh(double)
    with pytest.raises(DispatchError, match="TW655"):
        kernel.explain()
    kernel(ramp(), ramp())
    assert "mapping: 3 programs" in kernel.explain()
    assert "mapping: 25 programs" in kernel.explain(ramp(100), ramp(100))
    assert "mapping: 4 programs" in kernel.explain(ramp(), ramp(), block=3)


def test_old_signatures_make_room(monkeypatch: pytest.MonkeyPatch, interpreting: InterpretingDevice) -> None:
    monkeypatch.setattr("tilewright.compile.calls.MAX_ENTRIES", 3)
    kernel = fresh(double)
    for n in [1, 2, 3, 4, 4, 1, 4]:
        y = np.zeros(n, np.float32)
        kernel(ramp(n), y)
        assert np.array_equal(y, 2 * ramp(n))
    assert [compiled.parameters[0].shape for compiled, _ in interpreting.compiled] == [(1,), (2,), (3,), (4,), (1,)]
