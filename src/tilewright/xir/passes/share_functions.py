"""`share-functions`: of functions that are written alike one stays."""

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from tilewright.xir.ops import CallOp, FuncOp
from tilewright.xir.rewrite import erase

__all__ = ["ShareFunctions"]


@dataclass(frozen=True, slots=True)
class ShareFunctions:
    """Requires: a verified module.

    Ensures: no two functions consist of the same operations, types and properties in the same order.
    Rewrites: `func f { ... }; func g { the same }; call g` -> `func f { ... }; call f`; the first one stays.
    Declines: functions that compute the same in another way; kernels.
    """

    name: str = "share-functions"

    def apply(self, module: ModuleOp) -> int:
        first: dict[Hashable, FuncOp] = {}
        instead: dict[str, FuncOp] = {}
        for op in list(module.body.block.ops):
            if isinstance(op, FuncOp):
                stays = first.setdefault(_look(op), op)
                if stays is not op:
                    instead[op.sym_name.data] = stays
                    erase(op)
        if instead:
            _call(module, instead)
        return len(instead)


def _call(module: ModuleOp, instead: dict[str, FuncOp]) -> None:
    for op in module.walk():
        if isinstance(op, CallOp) and op.callee.data in instead:
            op.properties["callee"] = instead[op.callee.data].sym_name


def _look(function: FuncOp) -> Hashable:
    """Equal for functions that differ in their names and places alone."""
    found: list[Hashable] = []
    _add(function.body.block, {}, found)
    return tuple(found)


def _add(block: Block, numbers: dict[SSAValue, int], found: list[Hashable]) -> None:
    """A function sees nothing from outside, so every operand has a number already."""
    found.append(block.arg_types)
    numbers.update(zip(block.args, range(len(numbers), len(numbers) + len(block.args)), strict=True))
    for op in block.ops:
        found.append(type(op))
        found += [numbers[operand] for operand in op.operands]
        found += [*op.properties.items(), *op.attributes.items(), len(op.regions)]
        for result in op.results:
            numbers[result] = len(numbers)
            found.append(result.type)
        for region in op.regions:
            found.append(len(region.blocks))
            for inner in region.blocks:
                _add(inner, numbers, found)
    found.append("end")
