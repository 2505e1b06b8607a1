"""A kernel as one TIRx function: its arguments as buffers, its body as statements, structure kept as notes."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tilewright.bridge.tirx.export.casts import as_held
from tilewright.bridge.tirx.export.context import Exporter
from tilewright.bridge.tirx.export.representation import in_memory
from tilewright.bridge.tirx.export.table import RULES
from tilewright.bridge.tirx.nodes import Buffer, Nodes
from tilewright.bridge.tirx.sharing import Sharing
from tilewright.ir.kernel import Kernel, Parameter
from tilewright.ir.types import ViewType, compact_strides, footprint

__all__ = ["Exported", "export"]

ENTRY = "main"


@dataclass(frozen=True, slots=True)
class Exported:
    """A function of TIRx, the C functions that it calls, and what was counted on the way."""

    function: Any
    symbols: frozenset[str]
    counters: Mapping[str, int]


def export(kernel: Kernel, nodes: Nodes, sharing: Sharing, attributes: Mapping[str, object]) -> Exported:
    """The function of an admitted kernel. Raises UnsupportedError (TW423) where a rule is missing."""
    cx = Exporter(nodes, sharing, RULES)
    arguments = kernel.op.body.block.args
    buffers = [_buffer(nodes, parameter) for parameter in kernel.parameters]
    cx.buffers.update(zip(arguments, buffers, strict=True))
    with cx.block() as made:
        for value, parameter in zip(arguments, kernel.parameters, strict=True):
            if not isinstance(value.type, ViewType) and value.first_use is not None:
                raw = nodes.load(cx.buffers[value], [nodes.i64(0)])
                cx.scalars[value] = cx.once(as_held(cx, parameter.element, raw))
        cx.run(kernel.op.body.block)
        body = made()
    function = nodes.function(ENTRY, buffers, body, {"tile.kernel": kernel.name, **attributes})
    return Exported(function, frozenset(cx.symbols), MappingProxyType(dict(sorted(cx.counters.items()))))


def _buffer(nodes: Nodes, parameter: Parameter) -> Buffer:
    """A compact view keeps its axes; another one is the memory from its first to its last element."""
    shape = buffer_shape(parameter)
    kind = in_memory(parameter.element)
    return nodes.buffer(parameter.name, kind, shape, alignment=parameter.element.itemsize)


def buffer_shape(parameter: Parameter) -> tuple[int, ...]:
    """The shape under which an argument is passed: no axis is empty, a number has one element."""
    if parameter.strides == compact_strides(parameter.shape):
        return tuple(max(extent, 1) for extent in parameter.shape) or (1,)
    return (max(footprint(parameter.shape, parameter.strides), 1),)
