"""The route through TVM against the interpreter: the same bits wherever order and rounding are fixed.

Loops keep the order that the interpreter has, so only elementary functions differ, within the bounds of the table.
"""

from functools import cache
from typing import Any

import numpy as np
import pytest

from examples.gallery import ENTRIES
from tests.differential import route_kernels, test_manual_memory, test_xir_route
from tests.differential.elementwise import arguments as operands_of
from tests.differential.elementwise import captured as operation
from tests.differential.gallery.test_gallery import Guarded, assert_within
from tests.differential.kernels_control import ARGUMENTS
from tests.differential.kernels_control import KERNELS as CONTROL
from tests.differential.strided import Memory
from tests.differential.test_casts import RAW, TARGETS, five_casts, patterns
from tests.differential.test_elementwise import CASES, require_close
from tests.differential.test_gallery_agrees import GALLERY, bits, interpreted
from tests.differential.test_gallery_agrees import arguments as gallery_arguments
from tests.differential.test_gallery_agrees import captured as gallery_kernel
from tests.differential.test_xir_route import arguments, expected, same_bits
from tilewright.bridge.tirx import Compiled, SharedSSA, TirxOptions, TirxPlanner, compile
from tilewright.core.dtypes import ALL_DTYPES, DType, f16, f32, f64, float8_e4m3fn, i32, u64
from tilewright.interp.run import run as interpret
from tilewright.ir.kernel import Kernel
from tilewright.numerics.arrays import Array, numpy_dtype
from tilewright.tile import tensor_shape

ON_POOL = TirxOptions(planner=TirxPlanner(enabled=False))
ON_STACK = TirxOptions(
    shared_ssa=SharedSSA.EXPENSIVE_ONLY, planner=TirxPlanner(max_cpu_stack_bytes=65536, min_cpu_parallel_tasks=2)
)
IN_PACKS = TirxOptions(auto_vectorize=True)
FORWARDED = TirxOptions(noalias=True, forward_readonly_tile_loads=True)
EVERYTHING = TirxOptions(
    noalias=True,
    forward_readonly_tile_loads=True,
    auto_vectorize=True,
    planner=TirxPlanner(max_cpu_stack_bytes=65536, max_cpu_vector_lanes=128),
)
WAYS = (TirxOptions(), ON_POOL, ON_STACK, IN_PACKS, FORWARDED, EVERYTHING)
FIRST_CASTS = ((f64, False), (f64, True), (f16, False), (u64, False), (float8_e4m3fn, True))
FIRST_TYPES: tuple[object, ...] = (f32, i32)
FIRST_MEMORIES = ("crosswise 7, 3 trips", "staged product 7x13x19", "incremented 7", "overwritten 37", "swizzled 7")


def ways(name: str) -> TirxOptions:
    """Every kernel goes one way, and all ways are gone."""
    return WAYS[sum(map(ord, name)) % len(WAYS)]


def later(condition: bool) -> list[pytest.MarkDecorator]:
    """For `make test-all`."""
    return [pytest.mark.slow] if condition else []


def marked(names: Any, first: Any) -> list[Any]:
    return [pytest.param(name, marks=later(name not in first)) for name in names]


@pytest.mark.parametrize("name", marked(test_xir_route.KERNELS, route_kernels.KERNELS))
def test_the_route_computes_what_the_interpreter_computes(name: str) -> None:
    kernel = test_xir_route.KERNELS[name]
    arrays = arguments(kernel.parameters)
    compile(kernel, ways(name))(*arrays)
    for parameter, want, got in zip(kernel.parameters, expected(name), arrays, strict=True):
        assert same_bits(want, got), parameter.name


@pytest.mark.parametrize("name", [name for name, case in GALLERY.items() if case.bound is None])
def test_where_every_order_is_fixed_the_bits_are_the_interpreters(name: str) -> None:
    arrays = gallery_arguments(name)
    compile(gallery_kernel(name), ways(name))(*arrays)
    assert np.array_equal(bits(arrays[-1]), bits(interpreted(name)))


@pytest.mark.parametrize("name", ENTRIES)
def test_every_kernel_of_the_gallery_is_within_its_bounds(name: str) -> None:
    entry = ENTRIES[name]
    inputs, results = entry.arrays()
    guarded = [Guarded(array) for array in (*inputs, *results)]
    compile(entry.capture(), ways(name))(*(each.array for each in guarded))
    assert_within([each.array for each in guarded[len(inputs) :]], entry.exact(inputs, results))
    for each in guarded:
        each.assert_guards()


@pytest.mark.parametrize(
    ("opcode", "dtype"),
    [pytest.param(*case.values, id=case.id, marks=later(case.values[1] not in FIRST_TYPES)) for case in CASES],
)
def test_every_operation_on_every_kind_of_type(opcode: str, dtype: type[DType]) -> None:
    want, got = operands_of(opcode, dtype), operands_of(opcode, dtype)
    interpret(operation(opcode, dtype), want)
    compile(operation(opcode, dtype))(*got)
    require_close(opcode, dtype, want[-1], got[-1])


@pytest.mark.parametrize("targets", TARGETS, ids=str)
@pytest.mark.parametrize(
    ("source", "saturating"),
    [
        pytest.param(source, saturating, marks=later((source, saturating) not in FIRST_CASTS))
        for source in ALL_DTYPES
        for saturating in (False, True)
    ],
)
def test_every_cast(source: type[DType], targets: tuple[type[DType], ...], saturating: bool) -> None:
    values = patterns(source)
    shapes = [tensor_shape(len(values), dtype=each) for each in (source, *targets)]
    kernel = five_casts.capture(*shapes, saturating=saturating)
    want, got = ([values, *(np.zeros(len(values), numpy_dtype(each)) for each in targets)] for _ in range(2))
    interpret(kernel, want)
    compile(kernel)(*got)
    for target, a, b in zip(targets, want[1:], got[1:], strict=True):
        assert same_but_for_nan(target, a, b), target


def same_but_for_nan(dtype: type[DType], a: Array, b: Array) -> bool:
    if not dtype.is_float:
        return bool(np.array_equal(a, b))
    numbers = ~(np.isnan(a.astype("f4" if dtype != f64 else "f8")) & np.isnan(b.astype("f4" if dtype != f64 else "f8")))
    return bool(np.array_equal(a.view(RAW)[numbers.repeat(a.itemsize)], b.view(RAW)[numbers.repeat(a.itemsize)]))


@pytest.mark.parametrize("name", CONTROL)
def test_branches_and_numbers(name: str) -> None:
    want, got = ARGUMENTS[name](), ARGUMENTS[name]()
    interpret(CONTROL[name], want)
    compile(CONTROL[name], ways(name)).launch_addresses([np.asarray(each).ctypes.data for each in got])
    for parameter, a, b in zip(CONTROL[name].parameters, want, got, strict=True):
        assert a.tobytes() == b.tobytes(), parameter.name


@pytest.mark.parametrize("name", marked(test_manual_memory.KERNELS, FIRST_MEMORIES))
def test_manual_memory_and_its_layouts_on_strided_arguments(name: str) -> None:
    kernel = test_manual_memory.KERNELS[name]
    memories = test_manual_memory.lay_out(kernel.parameters)
    compile(kernel, ways(name))(*(memory.array for memory in memories))
    require_same(test_manual_memory.expected(kernel), memories)


def require_same(want: list[Memory], got: list[Memory]) -> None:
    for a, b in zip(want, got, strict=True):
        assert a.array.tobytes() == b.array.tobytes()


@cache
def in_place() -> tuple[Kernel, Compiled]:
    kernel = route_kernels.KERNELS["a load is a snapshot"]
    return kernel, compile(kernel)


@pytest.mark.parametrize("shift", [0, 1, 3, 16])
def test_arguments_may_overlap_in_any_way(shift: int) -> None:
    kernel, compiled = in_place()
    want, got = (np.arange(40, dtype="f4") for _ in range(2))
    interpret(kernel, [want[:19], want[shift : shift + 16]])
    compiled(got[:19], got[shift : shift + 16])
    assert want.tobytes() == got.tobytes()
