"""Loads, stores, gathers, scatters and atomics: every pattern of the schedule, under every kind of mask."""

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import bf16, f16, f32, f64, i8, i16, i32, i64
from xdsl.ir import Attribute, SSAValue

from tests.unit.backends.llvm.emit.program import Program, agree
from tilewright.xir.builder import XirBuilder
from tilewright.xir.types import I1, I64, vector_of
from tilewright.xir.values import storage_dtype

ELEMENTS = [f32, f64, i8, i16, i32, i64, f16, bf16]
Masks = Callable[[XirBuilder, SSAValue, int], SSAValue | None]
MASKS: dict[str, Masks] = {
    "all": lambda b, n, lanes: None,
    "prefix": lambda b, n, lanes: b.first_lanes(n, lanes),
    "fixed": lambda b, n, lanes: b.const_lanes(I1, [lane % 3 == 1 for lane in range(lanes)]),
    "varying": lambda b, n, lanes: b.cmp("ne", b.const_lanes(I64, range(lanes)), b.broadcast(n, lanes)),
}
INDICES: dict[str, Callable[[XirBuilder, SSAValue, int], SSAValue]] = {
    "consecutive": lambda b, n, lanes: b.add(b.broadcast(n, lanes), b.const_lanes(I64, range(lanes))),
    "uniform": lambda b, n, lanes: b.broadcast(n, lanes),
    "strided": lambda b, n, lanes: b.add(b.broadcast(n, lanes), b.const_lanes(I64, range(0, 3 * lanes, 3))),
    "indexed": lambda b, n, lanes: b.add(b.broadcast(n, lanes), b.const_lanes(I64, [k ^ 1 for k in range(lanes)])),
    "gather": lambda b, n, lanes: b.remui(
        b.mul(b.add(b.broadcast(n, lanes), b.const_lanes(I64, range(lanes))), b.broadcast(n, lanes)),
        b.const(vector_of(I64, lanes), 11),
    ),
}


def memory(element: Attribute, size: int) -> np.ndarray:
    return np.arange(1, size + 1).astype(np.float64).astype(storage_dtype(element))


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("lanes", [4, 16])
def test_vectors_are_loaded_and_stored_under_masks(element: Attribute, mask: str, lanes: int) -> None:
    p = Program((element, lanes + 1), (element, lanes + 1), (i64, 1))
    b, n = p.b, p.b.load(p.buffers[2], 0)
    chosen = MASKS[mask](b, n, lanes)
    fill = b.const(vector_of(element, lanes), 99) if mask == "varying" else None
    b.store(b.load(p.buffers[0], 1, lanes, mask=chosen, passthru=fill), p.buffers[1], 1, mask=MASKS[mask](b, n, lanes))
    agree(p, [memory(element, lanes + 1), memory(element, lanes + 1)[::-1].copy(), np.array([2])])


@pytest.mark.parametrize("lane", [0, 5, 15])
@pytest.mark.parametrize(("wide", "narrow"), [(i32, i16), (i32, i8), (i64, i32), (i64, i8), (i16, i8)], ids=str)
def test_one_narrowed_lane_is_stored_alone(wide: Attribute, narrow: Attribute, lane: int) -> None:
    """LLVM would store the wide lane, and so change the elements behind it."""
    p = Program((wide, 16), (narrow, 16))
    b = p.b
    narrowed = b.trunci(b.load(p.buffers[0], 0, 16), narrow)
    b.store(narrowed, p.buffers[1], 0, mask=b.const_lanes(I1, [each == lane for each in range(16)]))
    agree(p, [memory(wide, 16) * 3 - 40, memory(narrow, 16)])


@pytest.mark.parametrize("pattern", INDICES)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("element", [f32, i8, f64], ids=str)
def test_gathers_and_scatters(pattern: str, mask: str, element: Attribute) -> None:
    lanes, size = 8, 40
    p = Program((element, size), (element, size), (i64, 1), (element, lanes))
    b, n = p.b, p.b.load(p.buffers[2], 0)
    where = INDICES[pattern](b, n, lanes)
    values = b.gather(p.buffers[0], where, mask=MASKS[mask](b, n, lanes))
    b.store(values, p.buffers[3], 0)
    b.scatter(values, p.buffers[1], where, mask=MASKS[mask](b, n, lanes))
    patterns = {
        access.pattern.value for op, access in p.scheduled().accesses.items() if "ter" in op.name or "gather" in op.name
    }
    assert patterns == {pattern}
    agree(p, [memory(element, size), memory(element, size)[::-1].copy(), np.array([5]), memory(element, lanes)])


def test_lanes_that_are_off_may_point_anywhere() -> None:
    p = Program((f32, 4), (f32, 4))
    far = p.b.const_lanes(I64, [0, 1, -(1 << 40), 1 << 40])
    mask = p.b.const_lanes(I1, [True, True, False, False])
    p.b.scatter(p.b.gather(p.buffers[0], far, mask=mask), p.buffers[1], far, mask=mask)
    agree(p, [memory(f32, 4), np.zeros(4, np.float32)])


@pytest.mark.parametrize("on", [0, 1])
@pytest.mark.parametrize("element", [f32, i8, f16], ids=str)
def test_masked_scalars_touch_nothing_when_off(on: int, element: Attribute) -> None:
    p = Program((element, 4), (i64, 1))
    b = p.b
    mask = b.cmp("ne", b.load(p.buffers[1], 0), 0)
    far = b.select(mask, b.i64(1), b.i64(1 << 45))
    value = b.load(p.buffers[0], far, mask=mask, passthru=b.const(element, 9))
    b.store(value, p.buffers[0], far, mask=mask)
    b.store(value, p.buffers[0], 3)
    agree(p, [memory(element, 4), np.array([on])])


@pytest.mark.parametrize("on", [0, 1])
def test_gathers_of_one_lane_are_scalar_accesses(on: int) -> None:
    p = Program((f32, 4), (f32, 4), (i64, 2))
    b = p.b
    where, mask = b.load(p.buffers[2], 0), b.cmp("ne", b.load(p.buffers[2], 1), 0)
    b.scatter(b.gather(p.buffers[0], where), p.buffers[1], b.i64(0))
    b.scatter(b.gather(p.buffers[0], where, mask=mask), p.buffers[1], where, mask=mask)
    agree(p, [memory(f32, 4), np.zeros(4, np.float32), np.array([2, on])])


@pytest.mark.parametrize("shift", [0, 1])
def test_streaming_stores_write_the_same(shift: int) -> None:
    p = Program((f32, 65))
    with p.b.for_(0, 64, 16) as loop:
        p.b.store(p.b.const(vector_of(f32, 16), 3.0), p.buffers[0], p.b.add(loop.index, shift), streaming=True)
    agree(p, [np.zeros(65, np.float32)])
    assert "!nontemporal" in p.text()
    assert "fence seq_cst" in p.text()


@pytest.mark.parametrize("element", [i8, f16, f32, f64], ids=str)
def test_the_next_line_begins_at_a_multiple_of_its_size(element: Attribute) -> None:
    """The address is that of each route's own array."""
    p = Program((element, 200), (i64, 64))
    with p.b.for_(0, 64) as loop:
        p.b.store(p.b.line_offset(p.buffers[0], loop.index, 64), p.buffers[1], loop.index)
    for run in (p.interpreted, p.machine):
        array, found = run(memory(element, 200), np.zeros(64, np.int64))
        addresses = array.ctypes.data + array.itemsize * np.arange(64)
        assert found.tolist() == (-addresses % 64 // array.itemsize).tolist()


@pytest.mark.parametrize("kind", ["addf", "maximumf", "minimumf"])
@pytest.mark.parametrize("element", [f32, f64, f16, bf16], ids=str)
def test_float_atomics(kind: str, element: Attribute) -> None:
    p = Program((element, 2), tasks=3)
    b = p.b
    number = b.sitofp(b.trunci(b.add(p.task, 1), i32), f32)
    value = number if element == f32 else b.extf(number, f64) if element == f64 else b.truncf(number, element)
    b.atomic(kind, p.buffers[0], 1, value)
    agree(p, [np.array([5.5, 1.5]).astype(storage_dtype(element))])


@pytest.mark.parametrize("kind", ["addi", "maxsi", "minsi", "maxui", "minui"])
@pytest.mark.parametrize("element", [i8, i16, i32, i64], ids=str)
def test_integer_atomics(kind: str, element: Attribute) -> None:
    p = Program((element, 1), tasks=4)
    task = p.b.sub(p.task, 2)
    p.b.atomic(kind, p.buffers[0], 0, task if element == i64 else p.b.trunci(task, element))
    agree(p, [np.array([1], storage_dtype(element))])


def test_bfloat_atomics_round_once() -> None:
    p = Program((bf16, 1))
    p.b.atomic("addf", p.buffers[0], 0, p.b.const(bf16, 1.0))
    (out,) = agree(p, [np.array([2**-9], ml_dtypes.bfloat16)])
    assert float(out[0]) == 1.0
