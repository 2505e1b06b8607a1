"""A kernel as a short listing for people: one line an operation, the user's labels, decimal constants.

It does not parse back; `ir.text` does. Scalar constants stand where they are used.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr, IntAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.str_enum import StrEnum

from tilewright.ir.attrs import BoundsAttr, NumberAttr, PolicyAttr, UpdateKindAttr
from tilewright.ir.ops.regions import CarryingOp, KernelOp, RegionOp, YieldOp
from tilewright.ir.ops.tiles import ConstantOp, MapOp
from tilewright.ir.types import AxisAttr, DimAttr, MemoryType, SpaceAttr, TileType, ViewType, dtype_of, is_element
from tilewright.numerics.bits import from_bits

__all__ = ["Labels", "axes_text", "list_kernel", "number_text", "type_text"]

_INDENT = "  "
_HIDDEN = frozenset({"space", "value", "operandSegmentSizes"})
# What goes without saying: the values that the constructors give.
_DEFAULTS = {
    "bounds": "zero", "interval": "1", "reassociate": "true", "atoms": "false", "exclusive": "false",
    "reverse": "false", "saturating": "false",
}  # fmt: skip


def list_kernel(kernel: KernelOp) -> str:
    """The listing of one kernel, ending in a newline."""
    return "\n".join(_Listing(kernel).lines()) + "\n"


def number_text(bits: int, element: Attribute) -> str:
    """A bit pattern as a decimal number of its element type; as the pattern itself when it names no dtype."""
    if not is_element(element) or bits >> (8 * dtype_of(element).itemsize):
        return f"0x{bits:x}"
    value: Any = from_bits(dtype_of(element), np.asarray(bits, np.uint64)).reshape(())
    return str(value.item()) if dtype_of(element).kind != "float" else repr(float(value))


def type_text(kind: Attribute, label: "Labels | None" = None) -> str:
    """A type in a few characters: `f32`, `f32[m:64, k:32]`, `const f32[0:8]`."""
    match kind:
        case TileType():
            return f"{_element_text(kind.element)}[{axes_text(kind.space, label)}]"
        case ViewType():
            const = "const " if kind.is_const else ""
            return f"{const}{_element_text(kind.element)}[{axes_text(kind.space, label)}]"
        case MemoryType():
            return f"memory {_element_text(kind.element)}[{axes_text(kind.space, label)}]"
        case _:
            return _element_text(kind)


def _element_text(element: Attribute) -> str:
    return dtype_of(element).name if is_element(element) else element.name.removeprefix("tile.")


def axes_text(space: SpaceAttr, label: "Labels | None") -> str:
    """`m:64, k:32`, with numbers for dimensions when no labels are given."""
    return ", ".join(_axis_text(axis, label) for axis in space.axes)


def _axis_text(axis: AxisAttr, label: "Labels | None") -> str:
    return f"{label.of(axis.dim) if label else axis.dim.number}:{axis.extent}"


class Labels:
    """The user's names of the dimensions; the later of two equal names carries its number."""

    def __init__(self, kernel: KernelOp) -> None:
        self._names: dict[int, str] = {}
        taken: set[str] = set()
        table = kernel.properties.get("labels")
        for number, label in table.data.items() if isinstance(table, DictionaryAttr) else ():
            if not number.isdecimal():
                continue
            text = label.data if isinstance(label, StringAttr) else ""
            self._names[int(number)] = f"{text}.{number}" if text in taken else text
            taken.add(text)

    def of(self, dim: DimAttr) -> str:
        return self._names.get(dim.number) or f"d{dim.number}"


class _Listing:
    def __init__(self, kernel: KernelOp) -> None:
        self._kernel = kernel
        self._labels = Labels(kernel)
        self._names: dict[SSAValue, str] = {}
        self._taken: dict[str, int] = {}

    def lines(self) -> Iterator[str]:
        block = self._kernel.body.block
        for name, arg in zip(self._kernel.parameters.data, block.args, strict=False):
            self._name(arg, name.data)
        shown = ", ".join(f"{self._use(arg)}: {type_text(arg.type, self._labels)}" for arg in block.args)
        yield f"kernel {self._kernel.sym_name.data}({shown})"
        yield from self._body(block, 1)

    def _body(self, block: Block, depth: int) -> Iterator[str]:
        for op in block.ops:
            if isinstance(op, YieldOp) and not op.values:
                continue
            if isinstance(op, ConstantOp) and is_element(op.result.type):
                self._names[op.result] = number_text(op.value.data, op.result.type)
                continue
            yield from self._operation(op, depth)

    def _operation(self, op: Operation, depth: int) -> Iterator[str]:
        used = self._head(op)
        for result in op.results:
            self._name(result, result.name_hint)
        results = ", ".join(map(self._use, op.results))
        types = ", ".join(dict.fromkeys(type_text(result.type, self._labels) for result in op.results))
        left = f"{results} = " if results else ""
        right = f" : {types}" if types else ""
        entry = "".join(f" {{{self._arguments(op, block)}}}" for region in op.regions for block in region.blocks)
        yield f"{_INDENT * depth}{left}{used}{entry}{right}"
        for region in op.regions:
            for block in region.blocks:
                yield from self._body(block, depth + 1)

    def _head(self, op: Operation) -> str:
        words = [op.name.removeprefix("tile.")]
        if isinstance(op, RegionOp | MapOp):
            words.append(f"[{axes_text(op.space, self._labels)}]")
        if isinstance(op, ConstantOp):
            words.append(number_text(op.value.data, getattr(op.result.type, "element", op.result.type)))
        if op.operands and not isinstance(op, CarryingOp):
            words.append(", ".join(map(self._use, op.operands)))
        shown = ((name, self._property(attr)) for name, attr in op.properties.items() if name not in _HIDDEN)
        words += [f"{name}={text}" for name, text in shown if text != _DEFAULTS.get(name)]
        return " ".join(words)

    def _arguments(self, op: Operation, block: Block) -> str:
        """The arguments of a body: indices are called as their axes, carried values with what they start from."""
        axes = op.space.axes if isinstance(op, RegionOp | MapOp) else ()
        for arg, axis in zip(block.args, axes, strict=False):
            self._name(arg, self._labels.of(axis.dim))
        for arg in block.args[len(axes) :]:
            self._name(arg, arg.name_hint)
        names = [self._use(arg) for arg in block.args]
        if isinstance(op, CarryingOp):
            starts = [f" = {self._use(value)}" for value in op.inits]
            names = names[: len(axes)] + _joined(names[len(axes) :], starts)
        return ", ".join(names)

    def _property(self, attr: Attribute) -> str:
        match attr:
            case PolicyAttr() | BoundsAttr() | UpdateKindAttr():
                return _member(attr.data)
            case DimAttr():
                return self._labels.of(attr)
            case IntegerAttr():
                return "true" if attr.value.data else "false"
            case IntAttr() | NumberAttr():
                return str(attr.data)
            case StringAttr():
                return repr(attr.data)
            case _:
                return str(attr)

    def _name(self, value: SSAValue, wanted: str | None) -> None:
        base = wanted or "v"
        count = self._taken[base] = self._taken.get(base, -1) + 1
        self._names[value] = f"{base}{count}" if count or not wanted else base

    def _use(self, value: SSAValue) -> str:
        if value not in self._names:
            self._name(value, value.name_hint)
        return self._names[value]


def _member(member: StrEnum) -> str:
    return str(member.value)


def _joined(names: Iterable[str], starts: Iterable[str]) -> list[str]:
    return [f"{name}{start}" for name, start in zip(names, starts, strict=False)]
