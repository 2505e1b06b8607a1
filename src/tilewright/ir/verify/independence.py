"""The one thing that is checked of `parallel`'s promise: a store that is the same for all instances is a race.

Which indices a value depends on is over-approximated by bit sets: one bit for each index of a parallel, one for each
region whose carried values are not known until its body has been seen.
"""

from collections.abc import Iterable

from xdsl.ir import Operation, SSAValue

from tilewright.core.codes.effects import RACING_STORE
from tilewright.core.diagnostics import Label
from tilewright.ir.location import span_of
from tilewright.ir.ops.access import StoreElementOp, StoreOp
from tilewright.ir.ops.regions import CarryingOp, ParallelOp, RegionOp, WhenOp, YieldOp
from tilewright.ir.ops.tiles import MapOp
from tilewright.ir.types import AxisAttr, ViewType, tile_type, view_type
from tilewright.ir.verify.rule import Findings, Rule

RACE = Rule("V-PAR-1", RACING_STORE, "several iterations write one location: the store does not depend on {axes}")

RULES = (RACE,)


class Dependences:
    """Collects, op by op in the order of the walk, what every value depends on; judges the stores at the end."""

    def __init__(self) -> None:
        self._of: dict[SSAValue, int] = {}
        self._next_bit = 0
        self._region_bits: dict[Operation, int] = {}
        self._pending: dict[int, int] = {}  # the bit of a carrying region -> what its carried values depend on
        self._axes: list[tuple[ParallelOp, AxisAttr, int]] = []  # axes of extent > 1 around the current operation
        self._dead = 0  # enclosing regions of volume 0
        self._conditions: list[int] = []  # what decides whether an iteration goes on, for each region around
        self._stores: list[tuple[Operation, int, tuple[tuple[ParallelOp, AxisAttr, int], ...]]] = []

    def enter(self, op: Operation) -> None:
        """Before the body of `op`, whose operands have been seen."""
        inherited = self._union(op.operands)
        if not isinstance(op, RegionOp):
            self._define_arguments(op, inherited)
            return
        self._dead += op.space.volume == 0
        self._conditions.append(0)
        for arg, axis in zip(op.indices, op.space.axes, strict=False):
            self._of[arg] = self._index_bit(op, axis) if isinstance(op, ParallelOp) else 0
        if isinstance(op, CarryingOp):
            bit = self._region_bits[op] = self._bit()
            self._pending[bit] = inherited
            for arg in op.carries:
                self._of[arg] = bit
            for result in op.results:
                self._of[result] = bit

    def leave(self, op: Operation) -> None:
        """After the body of `op`."""
        if isinstance(op, RegionOp):
            self._dead -= op.space.volume == 0
            self._conditions.pop()
        if isinstance(op, ParallelOp):
            self._axes = [entry for entry in self._axes if entry[0] is not op]

    def visit(self, op: Operation) -> None:
        """One operation, after its body if it has one."""
        depends = self._union(op.operands)
        match op:
            case YieldOp():
                self._yield(op, depends)
            case WhenOp():
                self._conditions[-1] |= depends
            case StoreOp():
                address = [*op.origin, *([op.mask] if op.mask is not None else [])]
                self._store(op, view_type(op.view), address, tile_type(op.value).space.volume)
            case StoreElementOp():
                address = [*op.index, *([op.predicate] if op.predicate is not None else [])]
                self._store(op, view_type(op.view), address, 1)
            case CarryingOp():
                return
            case _:
                for result in op.results:
                    self._of[result] = self._of.get(result, 0) | depends

    def judge(self, found: Findings) -> None:
        """Reports the stores that no index of some parallel around them reaches."""
        self._resolve()
        for op, depends, axes in self._stores:
            reached = self._reached(depends)
            missing = [(region, axis) for region, axis, bit in axes if not reached & bit]
            if missing:
                names = " and ".join(f"{found.dim(axis.dim)} (extent {axis.extent})" for _, axis in missing)
                labels = [Label(span_of(region), "the parallel") for region, _ in dict(missing).items()]
                found.add(RACE, op, labels=labels, axes=names)

    def _store(self, op: Operation, view: ViewType, address: list[SSAValue], volume: int) -> None:
        if volume and view.space.volume and not self._dead and self._axes:
            depends = self._union(address)
            for condition in self._conditions:
                depends |= condition
            self._stores.append((op, depends, tuple(self._axes)))

    def _yield(self, op: YieldOp, depends: int) -> None:
        """Carried values depend on all that any of them is given: coarser than needed, and sound."""
        parent = op.parent_op()
        if parent is None:
            return
        if parent in self._region_bits:
            self._pending[self._region_bits[parent]] |= depends
        elif not isinstance(parent, RegionOp):
            for result in parent.results:
                self._of[result] = self._of.get(result, 0) | depends

    def _define_arguments(self, op: Operation, inherited: int) -> None:
        """Elements of a scan depend on its tiles; the indices of a map on nothing outside."""
        for region in op.regions:
            for block in region.blocks:
                for arg in block.args:
                    self._of[arg] = 0 if isinstance(op, MapOp) else inherited

    def _index_bit(self, op: ParallelOp, axis: AxisAttr) -> int:
        bit = self._bit()
        if axis.extent > 1:
            self._axes.append((op, axis, bit))
        return bit

    def _bit(self) -> int:
        self._next_bit += 1
        return 1 << (self._next_bit - 1)

    def _union(self, values: Iterable[SSAValue]) -> int:
        union = 0
        for value in values:
            union |= self._of.get(value, 0)
        return union

    def _reached(self, depends: int) -> int:
        """`depends` with the bits of carrying regions replaced by what their values depend on."""
        reached = depends
        for bit, inner in self._pending.items():
            if depends & bit:
                reached |= inner
        return reached

    def _resolve(self) -> None:
        """Closes what carrying regions depend on over each other, in as many rounds as they feed each other."""
        while True:
            closed = {bit: self._reached(inner) for bit, inner in self._pending.items()}
            if closed == self._pending:
                return
            self._pending = closed
