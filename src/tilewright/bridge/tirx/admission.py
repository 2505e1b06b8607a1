"""Which kernels this route takes. Everything else is refused here, once, with the line that asked for it."""

from collections.abc import Iterator

from xdsl.ir import Operation

from tilewright.analysis.overlap import overlap_of
from tilewright.bridge.tirx.export.context import ROUTE
from tilewright.bridge.tirx.export.table import RULES, STRUCTURE
from tilewright.core.abi import Usage
from tilewright.core.codes.unsupported import (
    LAYOUT_NOT_PROVED,
    MEMORY_RESOURCE,
    OP_NOT_ON_ROUTE,
    SCOPE_NOT_ON_ROUTE,
    WRITTEN_OVERLAP,
)
from tilewright.core.diagnostics import Diagnostic
from tilewright.core.errors import UnsupportedError
from tilewright.ir.effects import usage
from tilewright.ir.kernel import Kernel
from tilewright.ir.layout_enumeration import MAX_POINTS
from tilewright.ir.layout_proof import prove
from tilewright.ir.location import span_of
from tilewright.ir.ops.access import UpdateOp
from tilewright.ir.ops.memory import MemoryAllocOp
from tilewright.ir.ops.regions import ParallelOp
from tilewright.ir.types import ViewType, memory_type

__all__ = ["admit"]

_SCOPES = ("auto", "worker")
_RESOURCES = ("private", "auto")


def admit(kernel: Kernel) -> None:
    """Raises UnsupportedError with every reason for refusing a kernel."""
    found = list(_arguments(kernel))
    for op in kernel.op.walk():
        found += list(_operation(op))
    if found:
        raise UnsupportedError(*found)


def _arguments(kernel: Kernel) -> Iterator[Diagnostic]:
    for parameter, argument, use in zip(kernel.parameters, kernel.op.body.block.args, usage(kernel.op), strict=True):
        reason = overlap_of(argument.type) if isinstance(argument.type, ViewType) and Usage.WRITE in use else ""
        if reason:
            facts = parameter.shape, parameter.strides
            yield WRITTEN_OVERLAP.at(
                span_of(kernel.op), name=parameter.name, shape=facts[0], strides=facts[1], reason=reason
            )


def _operation(op: Operation) -> Iterator[Diagnostic]:
    if type(op) not in RULES and type(op) not in STRUCTURE:
        yield OP_NOT_ON_ROUTE.at(span_of(op), op=op.name, route=ROUTE)
    if isinstance(op, MemoryAllocOp):
        yield from _memory(op)
    if isinstance(op, ParallelOp) and op.scope is not None:
        yield from _scope(op, op.scope.data)


def _scope(op: ParallelOp, scope: str) -> Iterator[Diagnostic]:
    """A worker has no workers of its own, and a region with updates runs in order."""
    in_order = _is_inside_parallel(op) or any(isinstance(inner, UpdateOp) for inner in op.walk())
    allowed = ", ".join(_SCOPES[:1] if in_order else _SCOPES)
    if scope not in _SCOPES or (in_order and scope != _SCOPES[0]):
        yield SCOPE_NOT_ON_ROUTE.at(span_of(op), scope=scope, route=ROUTE, allowed=allowed)


def _is_inside_parallel(op: ParallelOp) -> bool:
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, ParallelOp):
            return True
        parent = parent.parent_op()
    return False


def _memory(op: MemoryAllocOp) -> Iterator[Diagnostic]:
    if op.resource is not None and op.resource.data not in _RESOURCES:
        allowed = ", ".join(_RESOURCES)
        yield MEMORY_RESOURCE.at(span_of(op), resource=op.resource.data, route=ROUTE, allowed=allowed)
    if op.layout is not None and not prove(op.layout.map).is_storage_safe:
        yield LAYOUT_NOT_PROVED.at(span_of(op), elements=memory_type(op.memory).space.volume, limit=MAX_POINTS)
