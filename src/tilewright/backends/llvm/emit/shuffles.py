"""Rules of operations that move lanes."""

from types import MappingProxyType
from typing import cast

from xdsl.dialects import vector
from xdsl.ir import Operation

from tilewright.backends.llvm.emit.arithmetic import PAIRS
from tilewright.backends.llvm.emit.emitter import Emitter, Rules, type_of
from tilewright.backends.llvm.types import I32, I64
from tilewright.backends.llvm.values import constant
from tilewright.xir import ops
from tilewright.xir.types import lanes_of

__all__ = ["LANES"]


def _broadcast(cx: Emitter, op: Operation) -> None:
    cx.define(op.results[0], cx.f.splat(cx.value(op.operands[0]), lanes_of(op.results[0].type)))


def _extract(cx: Emitter, op: Operation) -> None:
    lane = cast(vector.ExtractOp, op).static_position.get_values()[0]
    cx.define(op.results[0], cx.f.lane(cx.value(op.operands[0]), lane))


def _insert(cx: Emitter, op: Operation) -> None:
    lane = cast(vector.InsertOp, op).static_position.get_values()[0]
    scalar, into = cx.values(op.operands)
    cx.define(op.results[0], cx.f.insert_element(into, scalar, constant(I64, lane)))


def _shuffle(cx: Emitter, op: Operation) -> None:
    """LLVM wants both vectors of one length: the shorter is made longer first."""
    order = list(cast(vector.ShuffleOp, op).mask.get_values())
    a, b = cx.values(op.operands)
    length = max(a.type.lanes, b.type.lanes)
    first = [lane if lane < a.type.lanes else lane - a.type.lanes + length for lane in order]
    grown = [
        value if value.type.lanes == length else cx.f.shuffle(value, None, _grown(value.type.lanes, length))
        for value in (a, b)
    ]
    cx.define(op.results[0], cx.f.shuffle(grown[0], grown[1], first))


def _grown(lanes: int, length: int) -> list[int]:
    return [lane if lane < lanes else -1 for lane in range(length)]


def _lanes(cx: Emitter, op: Operation) -> None:
    kind = type_of(op.results[0])
    cx.define(op.results[0], cx.f.iota(I64, kind.lanes))


def _first_lanes(cx: Emitter, op: Operation) -> None:
    """The count is brought into 0..W first, so that the comparison needs 32 bits a lane, not 64."""
    f, lanes = cx.f, lanes_of(op.results[0].type)
    count = cx.value(op.operands[0])
    inside = f.integer_binary("smin", f.integer_binary("smax", count, constant(I64, 0)), constant(I64, lanes))
    cx.define(op.results[0], f.lanes_below(f.trunc(inside, I32), lanes))


def _fold_lanes(cx: Emitter, op: Operation) -> None:
    """Lane i meets lane i + W/2, and so on."""
    f, value = cx.f, cx.value(op.operands[0])
    pair = PAIRS[cast(ops.FoldLanesOp, op).kind.data]
    while value.type.lanes > 1:
        half = value.type.lanes // 2
        low, high = f.shuffle(value, None, range(half)), f.shuffle(value, None, range(half, 2 * half))
        value = pair(f, low, high)
    cx.define(op.results[0], f.lane(value, 0))


LANES: Rules = MappingProxyType(
    {
        vector.BroadcastOp: _broadcast,
        vector.ExtractOp: _extract,
        vector.InsertOp: _insert,
        vector.ShuffleOp: _shuffle,
        ops.LanesOp: _lanes,
        ops.FirstLanesOp: _first_lanes,
        ops.FoldLanesOp: _fold_lanes,
    }
)
