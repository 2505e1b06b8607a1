"""How often the buffers of a function are loaded and stored, and whether anything else may touch them."""

from collections import Counter
from dataclasses import dataclass

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.nodes import Buffer, Expr, Stmt
from tilewright.bridge.tirx.stack import ADDRESSES

__all__ = ["Traffic", "loads_in", "stores_in", "traffic_of"]

_PURE = (0, 1)
"""TVM's kinds of effect of a call: an expression, and a function that reads and changes nothing."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Places in the text, not executions. `opaque` is a call that may touch what it is not seen to touch."""

    stores: Counter[Buffer]
    loads: Counter[Buffer]
    opaque: str


def traffic_of(door: Door, body: Stmt) -> Traffic:
    """Of a whole function."""
    calls = list[Expr]()
    door.ffi.structural_walk(body, [(door.tvm.ir.Call, calls.append)], order="pre")
    opaque = (_name(door, call) for call in calls if not _is_pure(door, call))
    loads = Counter(load.source for load in loads_in(door, body))
    return Traffic(Counter(stores_in(door, body)), loads, next(opaque, ""))


def stores_in(door: Door, statement: Stmt) -> list[Buffer]:
    """The buffer of every store of an element."""
    found = list[Stmt]()
    door.ffi.structural_walk(statement, [(door.tirx.BufferStore, found.append)], order="pre")
    return [store.buffer for store in found]


def loads_in(door: Door, root: object) -> list[Expr]:
    """Every load of an element in a statement or expression."""
    found = list[Expr]()
    door.ffi.structural_walk(root, [(door.tvm.ir.TensorLoad, found.append)], order="pre")
    return found


def _name(door: Door, call: Expr) -> str:
    return str(call.op.name) if isinstance(call.op, door.tvm.ir.Op) else str(call.op)


def _is_pure(door: Door, call: Expr) -> bool:
    if not isinstance(call.op, door.tvm.ir.Op) or str(call.op.name) in ADDRESSES:
        return False
    effect = call.op.get_attr("TCallEffectKind")
    return effect is not None and int(effect) in _PURE
