"""The pass `merge-equal-values`: common subexpressions."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tilewright.ir.effects import effect_of, tree_effect
from tilewright.ir.ops.access import LoadElementOp, LoadOp
from tilewright.ir.ops.base import Effect
from tilewright.ir.rewrite import TilePass, TileRewriter

__all__ = ["MergeEqualValues"]

Key = tuple[object, ...]


@dataclass(frozen=True)
class MergeEqualValues(TilePass):
    """Computes equal pure values once, and loads once what nothing writes meanwhile.

    Requires: a verified module.
    Ensures: no two pure operations without bodies in one scope have equal operands, properties and result types, and
        no two loads do between which nothing writes.
    Rewrites: `%a = tile.add %x, %y; ...; %b = tile.add %x, %y` → the first alone, `%a` for `%b`.
    Declines when: the operation has a body, or an effect other than to load; the first one does not stand in an
        enclosing body; or anything writes between two loads, which then are snapshots of different moments.
    """

    name: ClassVar[str] = "merge-equal-values"

    def apply(self, module: ModuleOp, rewriter: TileRewriter) -> None:
        for kernel in module.body.block.ops:
            for region in kernel.regions:
                _merge(region.block, {}, rewriter)


def _merge(block: Block, outer: dict[Key, Operation], rewriter: TileRewriter) -> None:
    """`outer` holds what the enclosing bodies have computed so far; what this body adds is taken back at its end."""
    added: list[Key] = []
    for op in list(block.ops):
        if Effect.WRITE in tree_effect(op):  # a body that writes has done so before it comes round again
            _forget_loads(outer)
        for region in op.regions:
            _merge(region.block, outer, rewriter)
        if op.regions or not op.results or not _repeats(op):
            continue
        key = _key(op)
        first = outer.get(key)
        if first is None:
            outer[key] = op
            added.append(key)
        else:
            rewriter.replace_values(op, first.results)
    for key in added:
        outer.pop(key, None)


def _repeats(op: Operation) -> bool:
    """Whether the operation gives the same again."""
    return not effect_of(op) or isinstance(op, LoadOp | LoadElementOp)


def _forget_loads(outer: dict[Key, Operation]) -> None:
    for key in [key for key, op in outer.items() if effect_of(op)]:
        del outer[key]


def _key(op: Operation) -> Key:
    operands: tuple[SSAValue, ...] = tuple(op.operands)
    properties = tuple(sorted(op.properties.items(), key=lambda item: item[0]))
    attributes = tuple(sorted(op.attributes.items(), key=lambda item: item[0]))
    return type(op), operands, properties, attributes, tuple(result.type for result in op.results)
