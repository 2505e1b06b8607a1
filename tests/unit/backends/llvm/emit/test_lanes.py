"""Lanes: moving, folding, masks of first lanes; and what index vectors look like."""

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, f64, i8, i32, i64
from xdsl.ir import Attribute

from tests.unit.backends.llvm.emit.program import Program, agree
from tilewright.backends.llvm.emit.lanes import LaneForm, lane_form
from tilewright.xir.ops import FOLD_KINDS, LanesOp
from tilewright.xir.types import I64
from tilewright.xir.values import storage_dtype


@pytest.mark.parametrize("lanes", [2, 4, 8, 16, 32])
@pytest.mark.parametrize("kind", FOLD_KINDS)
def test_folds_halve(kind: str, lanes: int) -> None:
    element: Attribute = f32 if kind.endswith("f") else i32
    values = np.random.default_rng(lanes).standard_normal(lanes) * 100
    p = Program((element, lanes), (element, 1))
    p.b.store(p.b.fold_lanes(kind, p.b.load(p.buffers[0], 0, lanes)), p.buffers[1], 0)
    agree(p, [values.astype(storage_dtype(element)), np.zeros(1, storage_dtype(element))])


@pytest.mark.parametrize("kind", ["maximumf", "minimumf"])
@pytest.mark.parametrize("place", range(8))
def test_a_nan_in_any_lane_is_the_maximum(kind: str, place: int) -> None:
    values = np.arange(8, dtype=np.float32)
    values[place] = np.nan
    p = Program((f32, 8), (f32, 1))
    p.b.store(p.b.fold_lanes(kind, p.b.load(p.buffers[0], 0, 8)), p.buffers[1], 0)
    _, out = agree(p, [values, np.zeros(1, np.float32)])
    assert np.isnan(out[0])


@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
@pytest.mark.parametrize("count", [-(1 << 40), -1, 0, 1, 2, 7, 8, 16, 17, 1 << 32, (1 << 62)])
def test_first_lanes_for_any_count(lanes: int, count: int) -> None:
    p = Program((i64, 1), (i8, lanes))
    p.b.store(p.b.extui(p.b.first_lanes(p.b.load(p.buffers[0], 0), lanes), i8), p.buffers[1], 0)
    _, out = agree(p, [np.array([count]), np.zeros(lanes, np.int8)])
    assert out.sum() == min(max(count, 0), lanes)


def test_broadcast_extract_insert_shuffle() -> None:
    p = Program((f32, 8), (f32, 32))
    b = p.b
    v, w = b.load(p.buffers[0], 0, 8), b.load(p.buffers[0], 4, 4)
    b.store(b.broadcast(b.extract(v, 5), 4), p.buffers[1], 0)
    b.store(b.insert_lane(b.extract(v, 7), w, 2), p.buffers[1], 4)
    b.store(b.shuffle(v, v, [15, 0, 7, 8]), p.buffers[1], 8)
    b.store(b.shuffle(w, v, [3, 4, 11, 0]), p.buffers[1], 12)
    b.store(b.shuffle(v, w, [7, 8, 11, 0]), p.buffers[1], 16)
    agree(p, [np.arange(8, dtype=np.float32), np.zeros(32, np.float32)])


def test_lane_numbers() -> None:
    p = Program((i64, 8))
    p.b.store(p.b.insert(LanesOp(8)).results[0], p.buffers[0], 0)
    (out,) = agree(p, [np.zeros(8, np.int64)])
    assert out.tolist() == list(range(8))


def test_index_vectors_with_a_common_base_are_recognised() -> None:
    p = Program((f64, 4))
    b, lanes = p.b, p.b.const_lanes(I64, range(4))
    base = b.load(b.alloc(i64, 1), 0)
    wide = b.broadcast(base, 4)
    assert lane_form(lanes) == LaneForm((), (0, 1, 2, 3))
    assert lane_form(b.add(wide, lanes)) == LaneForm(((base, 1),), (0, 1, 2, 3))
    assert lane_form(b.sub(b.mul(b.add(wide, lanes), b.const(lanes.type, 3)), wide)) == LaneForm(
        ((base, 3), (base, -1)), (0, 3, 6, 9)
    )
    assert lane_form(b.shl(lanes, b.const(lanes.type, 2))) == LaneForm((), (0, 4, 8, 12))
    assert lane_form(b.mul(wide, lanes)) is None
    assert lane_form(b.load(p.buffers[0], 0)) is None
    strides = [
        lane_form(value) for value in (wide, lanes, b.const_lanes(I64, [0, 3, 6, 9]), b.const_lanes(I64, [0, 1, 3, 4]))
    ]
    assert [form.stride if form else None for form in strides] == [0, 1, 3, None]
