"""Every conversion rule against the interpreter of XIR: all 8- and 16-bit patterns, hard values of wide types."""

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.dialects.builtin import (
    Float8E4M3FNType,
    Float8E5M2Type,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from tests.unit.backends.llvm.emit.program import Program, agree
from tilewright.numerics.arrays import Array
from tilewright.xir.builder import XirBuilder
from tilewright.xir.values import storage_dtype

E4M3, E5M2 = Float8E4M3FNType(), Float8E5M2Type()
STORAGE = [f16, bf16, E4M3, E5M2]
LANES = 16
Build = Callable[[XirBuilder, SSAValue], SSAValue]


def every_pattern(element: Attribute) -> Array:
    dtype = storage_dtype(element)
    unsigned = np.uint8 if dtype.itemsize == 1 else np.uint16
    return np.arange(1 << (8 * dtype.itemsize), dtype=np.uint32).astype(unsigned).view(dtype)


def between(values: Array) -> Array:
    """The finite values, the middles between neighbours, and what lies just beside the middles, as float64."""
    with np.errstate(invalid="ignore"):
        wide = values.astype(np.float64)
    finite = np.unique(wide[np.isfinite(wide)])
    middles = (finite[1:] + finite[:-1]) / 2
    beside = [np.nextafter(middles, -np.inf), np.nextafter(middles, np.inf)]
    edges = finite[-1] * np.array([1.01, 1.03, 1.0625, 1.07, 1.2, 2, 1e6])
    return np.concatenate([finite, middles, *beside, edges, -edges, [np.inf, -np.inf, np.nan, -0.0, 1e-300]])


def check(source: Attribute, target: Attribute, values: Array, build: Build, lanes: int = LANES) -> None:
    with np.errstate(all="ignore"):
        given = np.resize(values, -(-len(values) // lanes) * lanes)
        given = given if given.dtype == storage_dtype(source) else given.astype(storage_dtype(source))
    p = Program((source, len(given)), (target, len(given)))
    with p.b.for_(0, len(given), lanes) as loop:
        p.b.store(build(p.b, p.b.load(p.buffers[0], loop.index, lanes)), p.buffers[1], loop.index)
    with np.errstate(all="ignore"):
        agree(p, [given, np.zeros(len(given), storage_dtype(target))])


@pytest.mark.parametrize("source", STORAGE, ids=str)
@pytest.mark.parametrize("target", [f32, f64], ids=str)
def test_storage_floats_widen_exactly(source: Attribute, target: Attribute) -> None:
    check(source, target, every_pattern(source), lambda b, x: b.extf(x, target))


@pytest.mark.parametrize("target", STORAGE, ids=str)
@pytest.mark.parametrize("source", [f32, f64], ids=str)
def test_floats_narrow_with_one_rounding(source: Attribute, target: Attribute) -> None:
    check(source, target, between(every_pattern(target)), lambda b, x: b.truncf(x, target))


@pytest.mark.parametrize("target", STORAGE, ids=str)
def test_a_scalar_narrows_like_a_vector(target: Attribute) -> None:
    check(f64, target, between(every_pattern(E5M2)), lambda b, x: b.truncf(x, target), lanes=1)


@pytest.mark.parametrize(("source", "target"), [(f16, E4M3), (f16, E5M2), (bf16, E4M3), (bf16, E5M2)], ids=str)
def test_storage_floats_narrow_to_smaller_ones(source: Attribute, target: Attribute) -> None:
    check(source, target, every_pattern(source), lambda b, x: b.truncf(x, target))


def test_double_narrows_to_single() -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate(
        [between(every_pattern(bf16)), rng.standard_normal(4000) * 10.0 ** rng.integers(-45, 40, 4000)]
    )
    check(f64, f32, values, lambda b, x: b.truncf(x, f32))


POWERS = np.int64(1) << np.arange(62)
TIES = np.concatenate([(POWERS[16:] >> bits) + offset for bits in (2, 3, 4, 8, 9, 11, 12) for offset in (-1, 0, 1)])
INTEGERS = np.unique(
    np.concatenate(
        [
            *(sign * POWERS + offset for sign in (1, -1) for offset in (-1, 0, 1, 3)),
            *(sign * (np.tile(POWERS[16:], len(TIES) // 46) + TIES) for sign in (1, -1)),
        ]
    )
)
"""Powers of two and their neighbours; and powers plus half a unit of a small format's last place, and one beside."""


@pytest.mark.parametrize("target", STORAGE, ids=str)
def test_nans_stay_nans_wherever_their_payload_is(target: Attribute) -> None:
    singles = np.array([0x7F800001, 0xFF800001, 0x7FC00000, 0x7F80FFFF, 0x7FFFFFFF, 0x7F810000], np.uint32).view(
        np.float32
    )
    check(f32, target, singles.view(np.float32), lambda b, x: b.truncf(x, target), lanes=2)
    doubles = np.array([0x7FF0000000000001, 0xFFF8000000000000, 0x7FF00000FFFFFFFF, 0x7FFFFFFFFFFFFFFF], np.uint64)
    check(f64, target, doubles.view(np.float64), lambda b, x: b.truncf(x, target), lanes=2)


@pytest.mark.parametrize("source", [i8, i16, i32, i64], ids=str)
@pytest.mark.parametrize("target", [f32, f64, f16, bf16, E4M3, E5M2], ids=str)
def test_integers_become_floats_with_one_rounding(source: Attribute, target: Attribute) -> None:
    values = INTEGERS.astype(storage_dtype(source))
    check(source, target, values, lambda b, x: b.sitofp(x, target), lanes=8)
    check(source, target, values, lambda b, x: b.uitofp(x, target), lanes=8)


@pytest.mark.parametrize("source", [f32, f64, f16, bf16, E4M3, E5M2], ids=str)
@pytest.mark.parametrize("target", [i8, i16, i32, i64], ids=str)
def test_floats_become_integers_saturated(source: Attribute, target: Attribute) -> None:
    hard = [0.5, -0.5, 127.4, 127.6, 128, -128.9, -129, 255.5, 256, 2.0**31, -(2.0**31), 2.0**63, 1e300, np.inf, np.nan]
    values = np.array([*hard, *(-x for x in hard)])
    check(source, target, values, lambda b, x: b.fptosi(x, target), lanes=4)
    check(source, target, values, lambda b, x: b.fptoui(x, target), lanes=4)


@pytest.mark.parametrize(("source", "target"), [(i8, i16), (i8, i64), (i16, i32), (i32, i64)], ids=str)
def test_integers_change_width(source: Attribute, target: Attribute) -> None:
    values = INTEGERS.astype(storage_dtype(source))
    check(source, target, values, lambda b, x: b.extsi(x, target), lanes=8)
    check(source, target, values, lambda b, x: b.extui(x, target), lanes=8)
    check(target, source, INTEGERS.astype(storage_dtype(target)), lambda b, x: b.trunci(x, source), lanes=8)


def test_masks_become_numbers() -> None:
    for element in (i8, i64):
        check(i8, element, np.arange(16), lambda b, x, e=element: b.extsi(b.trunci(x, i1), e))
    check(i8, f32, np.arange(16), lambda b, x: b.uitofp(b.trunci(x, i1), f32))


@pytest.mark.parametrize(
    ("source", "target"), [(f32, i32), (i32, f32), (f64, i64), (f16, i16), (i16, bf16), (E4M3, i8)], ids=str
)
def test_bits_are_read_as_another_type(source: Attribute, target: Attribute) -> None:
    given = np.arange(256, dtype=np.int64).astype(np.uint8)
    values = np.resize(given, 256).view(storage_dtype(source))
    p = Program((source, len(values)), (target, len(values)))
    with p.b.for_(0, len(values), 4) as loop:
        p.b.store(p.b.bitcast(p.b.load(p.buffers[0], loop.index, 4), target), p.buffers[1], loop.index)
    (_, out) = p.machine(values, np.zeros(len(values), storage_dtype(target)))
    assert out.tobytes() == values.tobytes()
