"""Packs under masks: what a guard keeps from being read is not read, and the fill stands there."""

import ctypes
import mmap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.unit.bridge.tirx.test_packs import MASKED, PACKED, masked
from tilewright.bridge.tirx import compile
from tilewright.bridge.tirx.door import open_door
from tilewright.bridge.tirx.lanes import Lane
from tilewright.bridge.tirx.masks import MaskProof
from tilewright.bridge.tirx.nodes import Nodes
from tilewright.bridge.tirx.packs import pack
from tilewright.bridge.tirx.pipeline import pipeline_of
from tilewright.bridge.tirx.stack import StackPlan
from tilewright.interp.run import run as interpret

Guard = Callable[[Nodes, Any, Any, Any], Any]
Array = np.ndarray[Any, Any]


def test_masks_from_memory() -> None:
    kernel = masked.capture(*MASKED)
    found = compile(kernel, PACKED)
    assert found.lowered.plan.counters["masked packs"] == 1
    x, keep = np.arange(16, dtype="f4"), np.random.default_rng(1).random(16) < 0.5
    want, got = np.zeros(16, "f4"), np.zeros(16, "f4")
    interpret(kernel, [x, keep, want])
    found(x, keep.view("u1"), got)
    assert want.tobytes() == got.tobytes()


# ---- guards of a loop over 16 lanes in [first, first + 16), around a loop of 3 steps


def guarded(guard: Guard, x: Array, first: int) -> Array:
    """y[i] = sum over k of (x[i] if guard(nodes, i, k, x) else 2.5), by packs under masks."""
    n, kind = Nodes(open_door()), "float32"
    t = n.door.tirx
    source = n.buffer("x", kind, [len(x)], alignment=4)
    result = n.buffer("y", kind, [first + 16], alignment=4)
    lane, k = n.var("i", "int64"), n.var("k", "int64")
    read = n.lazily(guard(n, lane, k, source), n.load(source, [lane]), n.float_(kind, 2.5))
    store = n.store(result, n.add(n.load(result, [lane]), read), [lane])
    steps = n.for_(k, 3, store, {})
    notes = {"tile.independent": t.IntImm("int32", 1)}
    loop = t.For(lane, n.i64(first), n.i64(16), t.ForKind.SERIAL, steps, annotations=notes)
    found = pack(n.door, n.function("main", [source, result], loop, {}), noalias=True)
    assert found.counters["masked packs"] == 1
    target = n.door.tvm.target.Target({"kind": "llvm", "mcpu": n.door.cpu()})
    with pipeline_of(n.door, StackPlan(0)) as pipeline:
        module = t.build(n.door.tvm.IRModule({"main": found.function}), target=target, pipeline=pipeline)
    y = np.zeros(first + 16, "f4")
    module["main"](x, y)
    return y[first:]


def by_step(n: Nodes, i: Any, k: Any, _x: Any) -> Any:
    return n.lt(n.add(i, n.mul(k, n.i64(5))), n.i64(20))


def with_holes(n: Nodes, i: Any, _k: Any, x: Any) -> Any:
    return n.and_(n.gt(n.load(x, [i]), n.float_("float32", 9.0)), n.ne(i, n.i64(13)))


def between(n: Nodes, i: Any, k: Any, _x: Any) -> Any:
    """Narrower than a pack: it fails in the first and in the last lane."""
    return n.and_(n.and_(n.ge(i, n.i64(10)), n.lt(i, n.i64(12))), n.lt(k, n.i64(2)))


def nowhere(n: Nodes, i: Any, _k: Any, _x: Any) -> Any:
    return n.lt(i, n.i64(3))


WANT: dict[Guard, Callable[[int, int], bool]] = {
    by_step: lambda i, k: i + 5 * k < 20,
    with_holes: lambda i, _k: i > 9 and i != 13,
    between: lambda i, k: 10 <= i < 12 and k < 2,
    nowhere: lambda _i, _k: False,
}


@pytest.mark.parametrize("guard", WANT)
def test_every_lane_has_its_element_or_the_fill(guard: Guard) -> None:
    x = np.arange(32, dtype="f4")
    want = [sum(float(i) if WANT[guard](i, k) else 2.5 for k in range(3)) for i in range(4, 20)]
    assert guarded(guard, x, 4).tolist() == want


def test_what_lies_outside_is_not_touched() -> None:
    """The argument ends where its page does, and the page behind it may not be read."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 2 * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    process = ctypes.CDLL(None)
    assert process.mprotect(ctypes.c_void_p(address + page), page, 0) == 0
    x = np.frombuffer(memory, "f4", 20, page - 80)
    want = [3.0 * 0.0 if i < 20 else 7.5 for i in range(4, 20)]
    assert guarded(lambda n, i, _k, _x: n.lt(i, n.i64(20)), x, 4).tolist() == want
    assert guarded(lambda n, i, _k, _x: n.lt(i, n.i64(20)), x, 12).tolist() == [0.0] * 8 + [7.5] * 8


# ---- what has no mask


def reason(value: Callable[[Nodes, Any, Any], Any]) -> str:
    n = Nodes(open_door())
    x, y = (n.buffer(name, "float32", [64], alignment=4) for name in "xy")
    lane = n.var("lane", "int64")
    store = n.store(y, value(n, lane, x), [lane])
    return MaskProof(n.door, Lane(n.door, lane, 16), [x, y], apart=True).reason_against(store)


def filled_from_memory(n: Nodes, lane: Any, x: Any) -> Any:
    return n.lazily(n.lt(lane, n.i64(9)), n.load(x, [lane]), n.load(x, [n.sub(lane, n.i64(9))]))


def spread(n: Nodes, lane: Any, x: Any) -> Any:
    return n.lazily(n.lt(lane, n.i64(9)), n.load(x, [n.mul(lane, n.i64(2))]), n.float_("float32", 1.0))


def divided(n: Nodes, lane: Any, _x: Any) -> Any:
    part = n.cast("float32", n.div(n.i64(9), lane))
    return n.lazily(n.lt(n.i64(0), lane), part, n.float_("float32", 1.0))


@pytest.mark.parametrize("value", [filled_from_memory, spread, divided])
def test_only_reads_of_neighbours_have_masks(value: Callable[[Nodes, Any, Any], Any]) -> None:
    assert reason(value) == "whether an element is read differs by lane"
