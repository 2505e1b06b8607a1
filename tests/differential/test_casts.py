"""Every cast between element types, against `numerics`: all patterns of narrow types, edges and samples of wide."""

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.differential.on_device import run_on_device
from tilewright import tile
from tilewright.backends.llvm.kernel import compile_kernel
from tilewright.bridge.xir.lower.kernel import lower
from tilewright.bridge.xir.options import XirOptions, element
from tilewright.bridge.xir.plan import plan
from tilewright.core.abi import CompileOptions
from tilewright.core.dtypes import ALL_DTYPES, DType, bf16, boolean, f16, f32, f64, u64
from tilewright.core.machine import GENERIC_AVX2
from tilewright.ir.kernel import Kernel
from tilewright.numerics import cast as casts
from tilewright.numerics.arrays import Array, numpy_dtype
from tilewright.tile import ConstView1, View1, axis, bitcast, cast, cdiv, coord, memory, parallel, shape, tensor_shape
from tilewright.xir.interp import run as run_xir
from tilewright.xir.passes.pipelines import CPU_PIPELINE, run_pipeline

BLOCK = 64
TARGETS = [ALL_DTYPES[:5], ALL_DTYPES[5:10], ALL_DTYPES[10:]]
RAW: Any = np.uint8


@tile.kernel
def five_casts(x: ConstView1, a: View1, b: View1, c: View1, d: View1, e: View1, *, saturating: bool):
    s = axis("s", BLOCK)
    for nest in parallel(shape(axis("block", cdiv(x.shape[0], BLOCK)))):
        at = coord(nest.index() * BLOCK)
        value = x[at, shape(s)]
        for y in (a, b, c, d, e):
            y.at(at, shape(s)).store(cast(y.dtype, value, saturating=saturating))


@tile.kernel
def copied(x: ConstView1, y: View1):
    s = axis("s", 32)
    for nest in parallel(shape(axis("block", cdiv(x.shape[0], 32)))):
        at = coord(nest.index() * 32)
        y.at(at, shape(s)).store(x[at, shape(s)])


@tile.kernel
def narrowed_and_back(x: ConstView1[f32], y: View1, z: View1[f32], *, through: bool):
    """x in the type of y, and what is left of it; through storage of that type where told."""
    s = axis("s", 16)
    for nest in parallel(shape(axis("block", cdiv(x.shape[0], 16)))):
        at = coord(nest.index() * 16)
        narrow = cast(y.dtype, x[at, shape(s)])
        if through:
            kept = memory(y.dtype, shape(s))
            kept.store(narrow)
            narrow = kept.load()
        y.at(at, shape(s)).store(narrow)
        z.at(at, shape(s)).store(cast(f32, narrow))


@tile.kernel
def reinterpreted(x: ConstView1, y: View1):
    s = axis("s", BLOCK)
    for nest in parallel(shape(axis("block", cdiv(x.shape[0], BLOCK)))):
        at = coord(nest.index() * BLOCK)
        y.at(at, shape(s)).store(bitcast(y.dtype, x[at, shape(s)]))


def patterns(dtype: type[DType]) -> Array:
    """Every value of a type of 8 or 16 bits; of others edges, ties of every narrower type, and random patterns."""
    if dtype == boolean:
        return np.arange(67) % 3 == 0
    if dtype.bits <= 16:
        return np.arange(1 << dtype.bits, dtype=f"u{dtype.itemsize}").view(numpy_dtype(dtype))
    rng = np.random.default_rng(dtype.bits)
    drawn = rng.integers(0, 256, 2000 * dtype.itemsize, np.uint8).view(numpy_dtype(dtype))
    sizes = np.concatenate([2.0**e * np.array([1, 1 + 2.0**-9, 1 + 3 * 2.0**-9, 1 + 2.0**-12]) for e in range(-30, 66)])
    limits = [0.0, 448, 464, 480, 65520, 57344, 61440]
    near = np.concatenate([np.nextafter(sizes, 0), sizes, np.nextafter(sizes, np.inf), limits])
    if dtype.is_float:
        special = np.array([np.inf, np.nan, 3.4e38, 1e-45, 1e-310])
        edges = np.concatenate([near, special]).astype(numpy_dtype(dtype))
        return np.concatenate([drawn, edges, -edges])
    whole = [int(size) + step for size in near if size < 2.0**63 for step in (-1, 0, 1)]
    held = [value for number in whole for value in (number, -number) if dtype.min <= value <= dtype.max]
    return np.concatenate([drawn, np.array([*held, dtype.min, dtype.max], numpy_dtype(dtype))])


@cache
def captured(source: type[DType], group: int, saturating: bool, count: int) -> Kernel:
    outputs = [tensor_shape(count, dtype=target) for target in TARGETS[group]]
    return five_casts.capture(tensor_shape(count, dtype=source), *outputs, saturating=saturating)


def require_casts(source: type[DType], group: int, saturating: bool, values: Array, got: list[Array]) -> None:
    for target, found in zip(TARGETS[group], got, strict=True):
        want = casts.cast(values, source, target, saturate=saturating and source != target)
        wrong = ~((found.view(f"u{target.itemsize}") == want.view(f"u{target.itemsize}")) | both_nan(found, want))
        assert not wrong.any(), (target, values[wrong][:4], found[wrong][:4], want[wrong][:4])


def both_nan(a: Array, b: Array) -> Any:
    """Which NaN a conversion gives is not stated."""
    with np.errstate(invalid="ignore"):
        return (a != a) & (b != b)  # noqa: PLR0124  the one value unequal to itself


@pytest.mark.parametrize("saturating", [False, True], ids=["plain", "saturating"])
@pytest.mark.parametrize("group", range(3))
@pytest.mark.parametrize("source", ALL_DTYPES, ids=repr)
def test_on_the_device(source: type[DType], group: int, saturating: bool) -> None:
    values = patterns(source)
    kernel = captured(source, group, saturating, len(values))
    got = [np.zeros(len(values), numpy_dtype(target)) for target in TARGETS[group]]
    run_on_device(kernel, [int(array.__array_interface__["data"][0]) for array in (values, *got)])
    require_casts(source, group, saturating, values, got)


@pytest.mark.parametrize("group", range(3))
@pytest.mark.parametrize("source", ALL_DTYPES, ids=repr)
def test_in_xir(source: type[DType], group: int) -> None:
    values = patterns(source)
    values = values[:: max(1, len(values) // 512)].copy()
    kernel = captured(source, group, True, len(values))
    lowered = lower(kernel, plan(kernel, GENERIC_AVX2, XirOptions(), threads=1))
    run_pipeline(lowered.module, CPU_PIPELINE)
    got = [np.zeros(len(values), numpy_dtype(target)) for target in TARGETS[group]]
    run_xir(lowered.module, [values, *got])
    require_casts(source, group, True, values, got)


@pytest.mark.parametrize("through", [False, True], ids=["values", "memory"])
@pytest.mark.parametrize("dtype", [f16, bf16], ids=repr)
def test_a_type_narrowed_and_widened_again_has_lost_its_bits(dtype: type[DType], through: bool) -> None:
    edges = [0.0, -0.0, 1.00390625, 1.01171875, 65504, 65519, 65520, 65536, np.inf, -np.inf, 1e-7, 6e-8, -3.4e38]
    x = np.resize(np.array(edges, np.float32), 67)
    y, z = np.zeros(67, numpy_dtype(dtype)), np.zeros(67, np.float32)
    shapes = tensor_shape(67), tensor_shape(67, dtype=dtype), tensor_shape(67)
    kernel = narrowed_and_back.capture(*shapes, through=through)
    sizes = [each.minimum_size_bytes for each in compile_kernel(kernel, CompileOptions()).metadata.arguments]
    assert sizes == [67 * 4, 67 * 2, 67 * 4]
    run_on_device(kernel, [int(array.__array_interface__["data"][0]) for array in (x, y, z)])
    narrow = casts.cast(x, f32, dtype)
    assert y.tobytes() == narrow.tobytes()
    assert z.tobytes() == casts.cast(narrow, dtype, f32).tobytes()


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=repr)
def test_a_copy_keeps_every_pattern(dtype: type[DType]) -> None:
    """NaN payloads and subnormals included, at an offset, between guards."""
    values = patterns(dtype)
    around = np.full(len(values) + 67, values[1])
    copied.with_options()(values, around[1 : 1 + len(values)])
    assert np.array_equal(around[1 : 1 + len(values)].view(RAW), values.view(RAW))
    assert (np.delete(around, np.s_[1 : 1 + len(values)]).view(RAW) == np.full(67, values[1]).view(RAW)).all()


@pytest.mark.parametrize("source", ALL_DTYPES[:-1], ids=repr)
def test_bits_are_kept_by_bitcasts(source: type[DType]) -> None:
    values = patterns(source)
    for target in ALL_DTYPES[:-1]:
        if target.bits == source.bits:
            got = np.zeros(len(values), numpy_dtype(target))
            reinterpreted(values, got)
            wrong = got.view(f"u{source.itemsize}") != values.view(f"u{source.itemsize}")
            assert not (wrong & ~both_nan(got, values.view(got.dtype)) & ~both_nan(values, values)).any(), target


@pytest.mark.parametrize("width", [0, 1], ids=["vectors", "scalars"])
@pytest.mark.parametrize("source", [f64, u64, f16], ids=repr)
def test_no_cast_calls_a_library(source: type[DType], width: int) -> None:
    """The only call left is the one to the worker pool, through a pointer."""
    options = CompileOptions(xir=XirOptions(lanes=element(), lane_width=width))
    for group in range(3):
        compiled = compile_kernel(captured(source, group, True, 67), options)
        assert not re.findall(r"^\s*(?:callq?|bl)[ \t]+(?!\*)\S+", compiled.assembly(), re.MULTILINE)
