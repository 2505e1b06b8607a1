"""Copies of operations with dimensions renamed and resized, and values replaced: the one mechanism behind the tiling
passes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute, Block, Operation, ParametrizedAttribute, Region, SSAValue

from tilewright.ir.ops.regions import KernelOp
from tilewright.ir.types import AxisAttr, DimAttr

__all__ = ["Retiling", "fresh_dim", "label_like"]


@dataclass
class Retiling:
    """`axes` says what each changed axis becomes; `values` what each value becomes, and grows with every copy.

    Where a changed dimension has another extent (1, of a tile that is broadcast) only its identity changes.
    """

    axes: Mapping[AxisAttr, AxisAttr]
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    _known: dict[Attribute, Attribute] = field(default_factory=dict[Attribute, Attribute])

    def attribute(self, attr: Attribute) -> Attribute:
        """The attribute with every changed dimension and extent replaced."""
        found = self._known.get(attr)
        if found is None:
            found = self._known[attr] = self._rebuilt(attr)
        return found

    def _rebuilt(self, attr: Attribute) -> Attribute:
        match attr:
            case AxisAttr():
                return self.axes.get(attr, AxisAttr.of(self._dim(attr.dim), attr.extent))
            case DimAttr():
                return self._dim(attr)
            case ArrayAttr():
                return ArrayAttr([self.attribute(item) for item in attr.data])
            case DictionaryAttr():
                return DictionaryAttr({key: self.attribute(value) for key, value in attr.data.items()})
            case ParametrizedAttribute():
                parameters = [self.attribute(item) for item in attr.parameters]
                return type(attr).new(parameters)
            case _:
                return attr

    def _dim(self, dim: DimAttr) -> DimAttr:
        return next((new.dim for old, new in self.axes.items() if old.dim == dim), dim)

    def copy(self, op: Operation) -> Operation:
        """The operation in the new tiling, with its regions and its place."""
        new = type(op).create(
            operands=[self.values.get(value, value) for value in op.operands],
            result_types=[self.attribute(value.type) for value in op.results],
            properties={name: self.attribute(value) for name, value in op.properties.items()},
            attributes=dict(op.attributes),
            regions=[self._region(region) for region in op.regions],
            location=op.location,
        )
        self.values.update(zip(op.results, new.results, strict=True))
        for old, result in zip(op.results, new.results, strict=True):
            result.name_hint = old.name_hint
        return new

    def _region(self, region: Region) -> Region:
        return Region([self.block(block) for block in region.blocks])

    def block(self, block: Block, kept: Sequence[SSAValue] | None = None) -> Block:
        """A copy of a block; with `kept`, only those arguments are made anew and the others must have values
        already.
        """
        arguments = list(block.args) if kept is None else list(kept)
        new = Block(arg_types=[self.attribute(value.type) for value in arguments])
        self.values.update(zip(arguments, new.args, strict=True))
        for old, argument in zip(arguments, new.args, strict=True):
            argument.name_hint = old.name_hint
        for op in block.ops:
            new.add_op(self.copy(op))
        return new


def fresh_dim(root: Operation) -> DimAttr:
    """A dimension that nothing under `root` uses."""
    seen: set[Attribute] = set()
    for op in root.walk():
        kinds = [value.type for value in op.results]
        kinds += [argument.type for region in op.regions for block in region.blocks for argument in block.args]
        for attr in (*kinds, *op.properties.values()):
            _collect(attr, seen)
    return DimAttr.of(1 + max((attr.number for attr in seen if isinstance(attr, DimAttr)), default=-1))


def _collect(attr: Attribute, seen: set[Attribute]) -> None:
    """Add an attribute and all it is made of."""
    if attr in seen:
        return
    seen.add(attr)
    for part in _parts(attr):
        _collect(part, seen)


def _parts(attr: Attribute) -> Sequence[Attribute]:
    match attr:
        case ArrayAttr():
            return cast("Sequence[Attribute]", attr.data)
        case ParametrizedAttribute():
            return attr.parameters
        case _:
            return ()


def label_like(kernel: KernelOp, new: DimAttr, old: DimAttr) -> None:
    """Give a new dimension the user's name of the one it comes from."""
    label = kernel.labels.data.get(str(old.number))
    if label is not None:
        kernel.properties["labels"] = DictionaryAttr({**kernel.labels.data, str(new.number): label})
