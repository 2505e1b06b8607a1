"""The structural hash of a module: by walking, never by printing.

Values and dimensions are numbered in order of first appearance. Names of kernels, parameters and values, labels of
dimensions and locations take no part; every type, extent, constant, policy and stage label does.
"""

from collections.abc import Iterable
from typing import cast

from xdsl.ir import Attribute, Block, Data, Operation, ParametrizedAttribute, SSAValue

from tilewright.core.digest import digest
from tilewright.ir.ops.regions import KernelOp
from tilewright.ir.types import DimAttr

__all__ = ["structural_hash"]

_NAMES_OF_KERNEL = frozenset({"sym_name", "parameters", "labels"})


def structural_hash(module: Operation) -> str:
    """SHA-256 (hexadecimal) of the module's meaning; equal across processes."""
    walk = _Walk()
    walk.operation(module)
    return digest(repr(walk.tokens))  # numbers, texts and bytes, each spelled in its own way; one by one takes longer


class _Walk:
    """Collects the tokens of a module. Attributes are spelled out once and referred to by number afterwards."""

    def __init__(self) -> None:
        self.tokens: list[int | str | bytes] = []
        self._values: dict[SSAValue, int] = {}
        self._dims: dict[DimAttr, int] = {}
        self._attributes: dict[Attribute, int] = {}

    def operation(self, op: Operation) -> None:
        ignored = _NAMES_OF_KERNEL if isinstance(op, KernelOp) else frozenset[str]()
        self.tokens += [op.name, len(op.operands), len(op.results), len(op.regions)]
        self._numbers(op.operands)
        for table in (op.properties, op.attributes):
            names = sorted(table.keys() - ignored)
            self.tokens.append(len(names))
            for name in names:
                self.tokens.append(name)
                self._attribute(table[name])
        self._define(op.results)
        for region in op.regions:
            self.tokens.append(len(region.blocks))
            for block in region.blocks:
                self._block(block)

    def _block(self, block: Block) -> None:
        self.tokens += ["block", len(block.args)]
        self._define(block.args)
        for op in block.ops:
            self.operation(op)
        self.tokens.append("end")

    def _define(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            self._numbers((value,))
            self._attribute(value.type)

    def _numbers(self, values: Iterable[SSAValue]) -> None:
        self.tokens += [self._values.setdefault(value, len(self._values)) for value in values]

    def _attribute(self, attr: Attribute) -> None:
        known = self._attributes.get(attr)
        if known is not None:
            self.tokens.append(known)
            return
        self._spell(attr)
        self._attributes[attr] = len(self._attributes)

    def _spell(self, attr: Attribute) -> None:
        self.tokens.append(attr.name)
        match attr:
            case DimAttr():
                self.tokens.append(self._dims.setdefault(attr, len(self._dims)))
            case ParametrizedAttribute():
                self.tokens.append(len(attr.parameters))
                for part in attr.parameters:
                    self._attribute(part)
            case Data():
                self._data(cast("Data[object]", attr).data)
            case _:
                self.tokens.append(str(attr))

    def _data(self, data: object) -> None:
        match data:
            case int():  # a flag is the same attribute whether it was built from True or parsed from 1
                self.tokens += ["int", int(data)]
            case str() | bytes():
                self.tokens += [type(data).__name__, data]
            case tuple() | list():
                items = cast("tuple[object, ...]", data)
                self.tokens.append(len(items))
                for item in items:
                    self._data(item)
            case Attribute():
                self._attribute(data)
            case _ if hasattr(data, "items"):
                table = cast("dict[str, Attribute]", data)
                self.tokens.append(len(table))
                for name in sorted(table):
                    self.tokens.append(name)
                    self._attribute(table[name])
            case _:
                self.tokens.append(str(data))
