"""How passes change XIR: values are replaced, dead operations erased, and what is new carries the place of the old."""

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import LocationAttr, ModuleOp, UnknownLoc
from xdsl.ir import Block, Operation, SSAValue

from tilewright.xir.builder import XirBuilder
from tilewright.xir.catalogue import PURE, READS

__all__ = ["Expansion", "bodies", "erase", "erase_dead", "expand", "function_of", "replace", "root_of"]

Expansion = Callable[[XirBuilder, Operation], Sequence[SSAValue]]


def replace(op: Operation, values: Sequence[SSAValue]) -> None:
    """Every use of `op`'s results becomes `values`, and `op` goes. Values without a place take over that of `op`."""
    for result, value in zip(op.results, values, strict=True):
        _place(value, op.location)
        result.replace_all_uses_with(value)
    erase(op)


def erase(op: Operation) -> None:
    """Removes an operation that nothing uses."""
    op.detach()
    op.erase()


def expand(module: ModuleOp, table: Mapping[type[Operation], Expansion]) -> int:
    """Replaces every operation in `table` by what its expansion builds before it; returns how many there were."""
    builders: dict[Block, XirBuilder] = {}
    found = [op for op in module.walk() if type(op) in table]
    for op in found:
        root = root_of(op)
        builder = builders.setdefault(root, XirBuilder(root))
        with builder.before(op):
            values = table[type(op)](builder, op)
        replace(op, values)
    return len(found)


def erase_dead(block: Block) -> int:
    """Erases pure operations and reads whose results nothing uses, last first, nested blocks included."""
    erased = 0
    op = block.last_op
    while op is not None:
        previous = op.prev_op
        for region in op.regions:
            erased += sum(erase_dead(inner) for inner in region.blocks)
        if (type(op) in PURE or type(op) in READS) and all(result.first_use is None for result in op.results):
            erase(op)
            erased += 1
        op = previous
    return erased


def bodies(module: ModuleOp) -> list[Block]:
    """The bodies of the module's functions and kernels."""
    return [region.block for op in module.body.block.ops for region in op.regions]


def root_of(op: Operation) -> Block:
    """The body of the function or kernel around `op`."""
    return function_of(op.parent_block())


def function_of(inside: Block | None) -> Block:
    """The body of the function or kernel around a block, or the block itself."""
    block = inside
    while block is not None:
        owner = block.parent_op()
        if owner is None or owner.name in ("xir.kernel", "xir.func"):
            return block
        block = owner.parent_block()
    raise ValueError("the operation stands in no function")


def _place(value: SSAValue, location: LocationAttr) -> None:
    owner = value.owner
    if isinstance(owner, Operation) and isinstance(owner.location, UnknownLoc):
        owner.location = location
