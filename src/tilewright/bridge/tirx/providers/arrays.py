"""Contracts on TileIR: which parts of a kernel are one function of a whole array. A note names kind and version.

A map is the exp of a float32 tile that gets a buffer anyway. A fold carries one float32 from the identity of its
operation over the last axis of a tile, in any order; its body is that operation on the next element and nothing else.
"""

from collections.abc import Mapping
from types import MappingProxyType

from xdsl.ir import Operation, SSAValue

from tilewright.core.dtypes import f32
from tilewright.ir.attrs import Policy
from tilewright.ir.ops import elementwise
from tilewright.ir.ops.regions import ReduceOp, YieldOp
from tilewright.ir.ops.tiles import ConstantOp, ExtractOp
from tilewright.ir.types import dtype_of, element_of, space_of

__all__ = ["FOLD", "MAP", "VERSION", "fold_notes", "map_notes"]

MAP, FOLD = "tile.map", "tile.fold"
VERSION = 1
_NOTHING: Mapping[str, object] = MappingProxyType({})
_ZERO, _LOWEST, _HIGHEST = 0x0, 0xFF800000, 0x7F800000
_KINDS: Mapping[type[Operation], tuple[str, int]] = MappingProxyType(
    {
        elementwise.AddOp: ("add", _ZERO),
        elementwise.MaxOp: ("max", _LOWEST),
        elementwise.MinOp: ("min", _HIGHEST),
    }
)


def map_notes(op: elementwise.ElementwiseOp) -> Mapping[str, object]:
    """The note of a tile that is computed into a buffer."""
    proved = isinstance(op, elementwise.ExpOp) and _is_f32(op.operand) and _is_f32(op.result)
    return {MAP: f"exp/{VERSION}"} if proved else _NOTHING


def fold_notes(op: ReduceOp) -> Mapping[str, object]:
    """The note of a fold."""
    kind = _kind(op)
    return {FOLD: f"{kind}/{VERSION}"} if kind else _NOTHING


def _kind(op: ReduceOp) -> str:
    body = list(op.body.block.ops)
    if op.space.rank != 1 or len(op.inits) != 1 or len(body) != 3 or op.policy.data is not Policy.UNORDERED_TREE:
        return ""
    element, step, last = body
    known = _KINDS.get(type(step))
    if known is None or not isinstance(element, ExtractOp) or not isinstance(last, YieldOp):
        return ""
    init = op.inits[0].owner
    from_identity = isinstance(init, ConstantOp) and _is_f32(op.inits[0]) and init.value.data == known[1]
    closed = set(step.operands) == {op.carries[0], element.result} and last.values[0] is step.results[0]
    return known[0] if from_identity and closed and _runs_along(op, element) else ""


def _runs_along(op: ReduceOp, element: ExtractOp) -> bool:
    """Whether the loop goes over the last axis of the tile, from its first to its last element."""
    index, *others = reversed(element.coords)
    whole = space_of(element.tile).extents[-1] == op.space.extents[0] if element.coords else False
    return whole and index is op.indices[0] and index not in others


def _is_f32(value: SSAValue) -> bool:
    return dtype_of(element_of(value)) is f32
