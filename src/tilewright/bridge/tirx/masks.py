"""Packs in which a guard holds in some lanes: what they read is loaded under a mask, and the fill stands elsewhere.

TVM has vectors for whatever all lanes do, and none for a lazy choice that differs by lane: such a store is written out
as a vector here. A lane whose guard does not hold touches no memory.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.guards import conjuncts_of, easiest_lane
from tilewright.bridge.tirx.lanes import LAZY, Lane, LaneProof, operands_of
from tilewright.bridge.tirx.nodes import Expr, Nodes, Stmt
from tilewright.bridge.tirx.renewal import Renewal
from tilewright.bridge.tirx.traffic import loads_in

__all__ = ["MaskProof", "Masks"]

_INTRINSIC = "tirx.call_llvm_pure_intrin"


class MaskProof(LaneProof):
    """As for lanes that go together, but for reads that differ by lane: neighbours, or else a plain fill."""

    def lazily(self, choice: Expr) -> str:
        """Why a lazy choice that differs by lane has no mask."""
        condition, read, fill = choice.args
        ir = self.door.tvm.ir
        if not isinstance(read, ir.TensorLoad) or self.lane.slope(read.indices[-1]) != 1:
            return super().lazily(choice)
        calls = list[Expr]()
        self.door.ffi.structural_walk(fill, [(ir.Call, calls.append)], order="pre")
        if calls or loads_in(self.door, fill):
            return super().lazily(choice)
        return self.place(read.source, read.indices) or self.value(condition) or self.value(fill)

    def call(self, call: Expr) -> str:
        """Only intrinsics of LLVM are written out."""
        name = str(call.op.name)
        return super().call(call) if name in (LAZY, _INTRINSIC) else f"{name} has no mask"


class Masks:
    """Stores of one pack as vectors. `known` is what stands for everything but the lane."""

    def __init__(
        self, door: Door, renewal: Renewal, lane: Lane, left: Expr, width: int, known: Mapping[Expr, Expr]
    ) -> None:
        self._door, self._t, self._n, self._renewal = door, door.tirx, Nodes(door), renewal
        self._lane, self._left, self._width, self._known = lane, left, width, known

    def store(self, store: Stmt) -> Stmt:
        """The store of all lanes."""
        buffer = self._known.get(store.buffer, store.buffer)
        return self._t.BufferStore(buffer, self._of(store.value), self._places(store.indices))

    def _of(self, e: Expr) -> Expr:
        """An expression in all lanes."""
        t = self._t
        if not self._lane.varies(e):
            return self._n.broadcast(self._renewal.copy(e, self._known), self._width)
        match e:
            case t.Var():
                first = self._left if e.same_as(self._lane.index) else self._n.i64(0)
                return self._n.ramp(first, self._width)
            case t.Cast():
                return t.Cast(self._n.vector(str(e.ty), self._width), self._of(e.value))
            case self._door.tvm.ir.TensorLoad():
                return self._load(e)
            case self._door.tvm.ir.Call():
                return self._call(e)
            case _:
                return type(e)(*map(self._of, operands_of(t, e)))

    def _call(self, call: Expr) -> Expr:
        first, *rest = call.args
        if str(call.op.name) == LAZY and self._lane.varies(first):
            return self._choice(first, *rest)
        operands = [self._renewal.copy(first, self._known), *map(self._of, rest)]  # a number of LLVM's, or a condition
        kind = self._n.vector(str(call.ty), self._width)
        return self._door.tvm.ir.Call(call.op, operands, ret_ty=kind)

    def _choice(self, condition: Expr, read: Expr, fill: Expr) -> Expr:
        """Nothing is loaded where a part of the condition fails in all lanes: the place may be far outside, and a load
        from a page that is not there is slow even under a mask.
        """
        mask, filled = self._of(condition), self._of(fill)
        kind = self._n.vector(str(read.ty), self._width)
        found = self._n.masked_load(kind, read.source, self._places(read.indices), mask)
        chosen, may = self._n.select(mask, found, filled), self._may_hold(condition)
        return self._n.lazily(reduce(self._t.And, may), chosen, filled) if may else chosen

    def _may_hold(self, condition: Expr) -> list[Expr]:
        """Conditions without which it holds in no lane."""
        needed = list[Expr]()
        for guard in conjuncts_of(self._t, condition):
            lane = easiest_lane(self._t, self._lane, guard, self._width) if self._lane.varies(guard) else 0
            if lane is not None:
                needed.append(self._renewal.copy(guard, self._in_lane(lane)))
        return needed

    def _in_lane(self, number: int) -> Mapping[Expr, Expr]:
        lane = self._n.i64(number)
        return {**self._known, self._lane.index: self._n.add(self._left, lane), self._lane.slot: lane}

    def _load(self, load: Expr) -> Expr:
        buffer, places = self._known.get(load.source, load.source), self._places(load.indices)
        if self._lane.slope(load.indices[-1]) == 1:
            return self._n.load(buffer, places)
        return self._n.broadcast(self._n.load(buffer, [*places[:-1], places[-1].base]), self._width)

    def _places(self, indices: Sequence[Expr]) -> list[Any]:
        *outer, last = (self._renewal.copy(index, self._in_lane(0)) for index in indices)
        return [*outer, self._n.ramp(last, self._width)]
