"""What the tests of the language look at: the operations of a captured kernel."""

from collections.abc import Sequence
from typing import TypeVar

from xdsl.ir import Block, Operation, Region

from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.regions import KernelOp, ParallelOp, RegionOp
from tilewright.ir.types import ViewType

OpT = TypeVar("OpT", bound=Operation)


def body(op: RegionOp | KernelOp) -> Block:
    return op.body.block


def names(block: Block) -> list[str]:
    """The operations of a block, without the dialect's prefix."""
    return [op.name.removeprefix("tile.") for op in block.ops]


def root(kernel: Kernel) -> ParallelOp:
    return only(kernel, ParallelOp)


def every(kernel: Kernel, kind: type[OpT]) -> list[OpT]:
    return [op for op in kernel.module.walk() if isinstance(op, kind)]


def only(kernel: Kernel, kind: type[OpT], *, last: bool = False) -> OpT:
    found = every(kernel, kind)
    assert last or len(found) == 1, kernel.text(short=True)
    return found[-1]


def all_names(region: Region | Kernel) -> list[str]:
    """Every operation inside, at any depth."""
    ops = region.module.walk() if isinstance(region, Kernel) else region.walk()
    return [op.name.removeprefix("tile.") for op in ops]


def views(kernel: Kernel) -> Sequence[ViewType]:
    return [arg.type for arg in kernel.op.body.block.args if isinstance(arg.type, ViewType)]
