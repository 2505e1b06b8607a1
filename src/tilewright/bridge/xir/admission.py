"""Which kernels the native CPU route takes. Everything else is refused here, once, with the line that asked for it."""

from collections.abc import Iterator

from xdsl.ir import Operation

from tilewright.analysis.overlap import overlap_of
from tilewright.core.abi import Usage
from tilewright.core.codes.unsupported import (
    LAYOUT_NOT_PROVED,
    MEMORY_RESOURCE,
    ROOT_NOT_ONE_PARALLEL,
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
from tilewright.ir.ops import elementwise, memory, regions, tiles
from tilewright.ir.types import ViewType, memory_type

__all__ = ["ROUTE", "admit"]

ROUTE = "xir"
_SCOPES = ("auto", "worker")
_RESOURCES = ("private", "auto")
_ROOT_OPS = (
    elementwise.ElementwiseOp,
    regions.ParallelOp,
    regions.YieldOp,
    tiles.ConstantOp,
    tiles.ExtractOp,
    tiles.MapOp,
)


def admit(kernel: Kernel) -> regions.ParallelOp:
    """The root parallel of an admitted kernel. Raises UnsupportedError with every reason for refusing it."""
    root, found = _root(kernel)
    found += list(_arguments(kernel))
    for op in kernel.op.walk():
        found += list(_operation(op))
    if found or root is None:
        raise UnsupportedError(*found)
    return root


def _root(kernel: Kernel) -> tuple[regions.ParallelOp | None, list[Diagnostic]]:
    ops = list(kernel.op.body.block.ops)
    roots = [op for op in ops if isinstance(op, regions.ParallelOp)]
    others = [op for op in ops if not isinstance(op, _ROOT_OPS)]
    if len(roots) == 1 and not others:
        return roots[0], []
    where = (roots[1:] or others or [kernel.op])[0]
    return None, [ROOT_NOT_ONE_PARALLEL.at(span_of(where), route=ROUTE, count=len(roots), others=len(others))]


def _arguments(kernel: Kernel) -> Iterator[Diagnostic]:
    for parameter, argument, use in zip(kernel.parameters, kernel.op.body.block.args, usage(kernel.op), strict=True):
        span = span_of(kernel.op)
        reason = overlap_of(argument.type) if isinstance(argument.type, ViewType) and Usage.WRITE in use else ""
        if reason:
            facts = parameter.shape, parameter.strides
            yield WRITTEN_OVERLAP.at(span, name=parameter.name, shape=facts[0], strides=facts[1], reason=reason)


def _operation(op: Operation) -> Iterator[Diagnostic]:
    if isinstance(op, memory.MemoryAllocOp):
        yield from _memory(op)
    if isinstance(op, regions.ParallelOp) and op.scope is not None and op.scope.data not in _SCOPES:
        yield SCOPE_NOT_ON_ROUTE.at(span_of(op), scope=op.scope.data, route=ROUTE, allowed=", ".join(_SCOPES))


def _memory(op: memory.MemoryAllocOp) -> Iterator[Diagnostic]:
    """Storage of one worker, each element in a cell of its own: whether or not anything is ever put there."""
    if op.resource is not None and op.resource.data not in _RESOURCES:
        allowed = ", ".join(_RESOURCES)
        yield MEMORY_RESOURCE.at(span_of(op), resource=op.resource.data, route=ROUTE, allowed=allowed)
    if op.layout is not None and not prove(op.layout.map).is_storage_safe:
        yield LAYOUT_NOT_PROVED.at(span_of(op), elements=memory_type(op.memory).space.volume, limit=MAX_POINTS)
