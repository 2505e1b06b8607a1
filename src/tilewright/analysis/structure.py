"""Where things stand in a kernel: numbers for values, paths of regions, and what lies between two points."""

from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from tilewright.ir.effects import effect_of, storage_of
from tilewright.ir.ops.base import Effect
from tilewright.ir.ops.regions import CarryingOp, KernelOp, RegionOp
from tilewright.ir.ops.tiles import MapOp, ScanOp
from tilewright.ir.types import ViewType

__all__ = ["Structure", "is_in_map", "structure_of"]


@dataclass(frozen=True)
class Structure:
    """Facts about one kernel that do not change while it is planned and lowered.

    `position` orders operations as they are written, regions inside out; `last` is the position of the last operation
    inside.
    """

    kernel: KernelOp
    numbers: dict[SSAValue, int]
    position: dict[Operation, int]
    last: dict[Operation, int]

    def ancestor_in(self, op: Operation, block: Block) -> Operation | None:
        """The operation of `block` that holds `op` (or is it); None when `op` lies elsewhere."""
        current: Operation | None = op
        while current is not None and current.parent is not block:
            current = current.parent_op()
        return current

    def writes_between(self, start: Operation, end: Operation, view: SSAValue, *, may_alias: bool) -> Operation | None:
        """An operation after `start` and before `end` that may write what `view` shows.

        When a loop that does not hold `start` holds `end`, everything in the loop lies between them.
        """
        block = start.parent
        outer = end if block is None else self.ancestor_in(end, block)
        stop = self.position[end] if outer is None or outer is end else self.last[outer]
        for op, place in self.position.items():
            if self.position[start] < place <= stop and op is not end and _may_write(op, view, may_alias=may_alias):
                return op
        return None

    def written_with(self, view: SSAValue) -> set[tuple[int, int]]:
        """Pairs (argument of `view`, other argument that the kernel writes), by argument position."""
        arguments = self.kernel.body.block.args
        written = {storage_of(op) for op in self.position if Effect.WRITE in effect_of(op)}
        return {
            (arguments.index(view), i) for i, other in enumerate(arguments) if other in written and other is not view
        }

    def regions_of(self, op: Operation) -> tuple[RegionOp, ...]:
        """The structured regions around `op`, outermost first."""
        found: list[RegionOp] = []
        current = op.parent_op()
        while current is not None:
            if isinstance(current, RegionOp):
                found.append(current)
            current = current.parent_op()
        return tuple(reversed(found))

    def trips_of(self, op: Operation) -> int:
        """How often the ordered regions around `op` run it in one root instance."""
        count = 1
        for region in self.regions_of(op)[1:]:
            count *= max(region.space.volume, 1)
        return count

    def is_carry(self, value: SSAValue) -> bool:
        """Whether the value is carried into a region body."""
        owner = value.owner
        parent = owner.parent_op() if isinstance(owner, Block) else None
        return isinstance(parent, CarryingOp) and value in parent.carries


def _may_write(op: Operation, view: SSAValue, *, may_alias: bool) -> bool:
    """Arguments may overlap each other where they may; a manual memory overlaps nothing."""
    written = storage_of(op)
    if Effect.WRITE not in effect_of(op) or written is None:
        return False
    if written is view:
        return True
    return may_alias and isinstance(written.type, ViewType) and isinstance(view.type, ViewType)


def is_in_map(op: Operation) -> bool:
    """Whether the operation helps to compute an element, in the body of a map or of a scan."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, MapOp | ScanOp):
        parent = parent.parent_op()
    return parent is not None


def structure_of(kernel: KernelOp) -> Structure:
    """Number every value and operation of a kernel in one walk."""
    numbers: dict[SSAValue, int] = {}
    position: dict[Operation, int] = {}
    last: dict[Operation, int] = {}

    def visit(op: Operation) -> None:
        position[op] = len(position)
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    numbers[argument] = len(numbers)
                for inner in block.ops:
                    visit(inner)
        for result in op.results:
            numbers[result] = len(numbers)
        last[op] = len(position) - 1

    visit(kernel)
    return Structure(kernel, numbers, position, last)
