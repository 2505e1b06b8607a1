"""Which stores compute several neighbouring vectors, or those of two rows, before they write any of them.

A load waits for a store before it whose address has the same place in its page, although it reads something else, and
arguments lie where they lie. With the loads of several vectors before their stores that happens once for all of them.
Rows that read the same vector, such as a weight, read it once together. Short functions of several vectors take turns,
so that none waits for another. Only timing depends on the choice.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import Operation, SSAValue

from tilewright.bridge.xir.layout import Layouts
from tilewright.bridge.xir.options import Use
from tilewright.bridge.xir.prices import EXPENSIVE, exponentials, is_function
from tilewright.bridge.xir.records import NestPlan
from tilewright.bridge.xir.squares import inlined
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.regions import RegionOp
from tilewright.ir.types import DimAttr, dtype_of, is_tile, space_of, view_type

__all__ = ["abreast"]

_VECTORS = 4  # of all stores of a loop, in each row
_ROWS = 2
_TURNS = 16  # of a loop over rows, which is worth all the vectors
_OPERATIONS, _OF_ROWS = 128, 48  # of a loop body, and of one of several rows, so that it stays quick to compile
_EXPONENTIAL = 15  # operations of an exponential


def abreast(
    layouts: Layouts,
    nests: Mapping[int, NestPlan],
    joined: Mapping[int, tuple[int, ...]],
    partial: Collection[int],
) -> dict[int, NestPlan]:
    """The nests, with how many vectors and rows are computed at once; stores of one loop (`joined`) alike. Dimensions
    in `partial` may end early.
    """
    if layouts.choice.program or layouts.placement.options.abreast is Use.NEVER:
        return dict(nests)
    return _Abreast(layouts, nests, joined, partial).decided()


@dataclass(frozen=True)
class _Abreast:
    layouts: Layouts
    nests: Mapping[int, NestPlan]
    joined: Mapping[int, tuple[int, ...]]
    partial: Collection[int]

    def decided(self) -> dict[int, NestPlan]:
        operations = {position: op for op, position in self.layouts.placement.structure.position.items()}
        others = {other for group in self.joined.values() for other in group}
        found = dict(self.nests)
        for last, nest in self.nests.items():
            op = operations[last]
            if isinstance(op, StoreOp) and last not in others:
                group = (*self.joined.get(last, ()), last)
                stores = [each for place in group if isinstance(each := operations[place], StoreOp)]
                for place in group:
                    found[place] = self._stored(stores, nest, self.nests[place])
        return found

    def _stored(self, stores: list[StoreOp], nest: NestPlan, own: NestPlan) -> NestPlan:
        """A store's own nest, with what the loop of all of them, of which `nest` is the last, computes at once."""
        computed = self._computed(stores)
        if not self._is_plain(nest) or not self._may_wait(stores, computed, nest):
            return own
        vectors = prod(_extent(stores[-1], dim) for dim in (*nest.merged, nest.lane)) // nest.width
        size = _size(computed) + len(stores)
        copies = max(1, min(_VECTORS // len(stores), vectors // 2, _OPERATIONS // size))
        reads = self._reads(stores, computed, nest)
        apart = [value for value in reads if not _moves(value, *nest.axes[-2:-1])]
        forced = self.layouts.placement.options.abreast is Use.WHEREVER_LEGAL
        slow = (
            [] if forced else [op for op in computed if isinstance(op, EXPENSIVE) and _moves(op.results[0], nest.lane)]
        )
        if slow and not (copies * len(stores) == _VECTORS and any(map(is_function, slow))):
            return own
        if not slow and not forced and self._are_narrow(stores, nest):
            return own
        if slow or copies == 1 or not apart or not self._are_whole(stores, nest):
            return replace(own, copies=copies)
        turns = _extent(stores[-1], nest.axes[-2]) // _ROWS * vectors // copies
        if turns < _TURNS or _ROWS * copies * size > _OF_ROWS:
            copies //= 2
        together = len(reads) - len(apart) * (_ROWS - 1) / _ROWS
        return replace(own, copies=copies, rows=_ROWS, reads=(len(reads), together))

    def _is_plain(self, nest: NestPlan) -> bool:
        """Whether lanes are the innermost loop, in vectors that lie as they are computed."""
        return nest.lane is not None and nest.width > 1 and nest.across is None and nest.axes[-1] == nest.lane

    def _may_wait(self, stores: list[StoreOp], computed: set[Operation], nest: NestPlan) -> bool:
        """Whether anything is read, and no loop stands inside."""
        loops = any(isinstance(inner, RegionOp) for op in computed for inner in op.walk())
        return not loops and bool(self._reads(stores, computed, nest))

    def _are_narrow(self, stores: list[StoreOp], nest: NestPlan) -> bool:
        """Whether vectors are parts of registers, which were never seen to wait."""
        widest = max(dtype_of(view_type(op.view).element).bits for op in stores)
        return nest.width * widest < self.layouts.machine.vector_bits

    def _are_whole(self, stores: list[StoreOp], nest: NestPlan) -> bool:
        """Whether rows always come in groups, each from its beginning to its end."""
        if len(nest.axes) < 2 or nest.merged or nest.streaming or nest.axes[-2] in self.partial:
            return False
        return _extent(stores[-1], nest.axes[-2]) % _ROWS == 0

    def _computed(self, stores: list[StoreOp]) -> set[Operation]:
        return {op for store in stores for op in inlined(self.layouts.placement, store, set())}

    def _reads(self, stores: list[StoreOp], computed: Iterable[Operation], nest: NestPlan) -> set[SSAValue]:
        """Tiles of which vectors are loaded, from views or buffers."""
        placement = self.layouts.placement
        used = {value for op in (*stores, *computed) for value in op.operands if is_tile(value)}
        loaded = {value for value in used if isinstance(value.owner, LoadOp) or not placement.is_inline(value)}
        return {value for value in loaded if _moves(value, nest.lane)}


def _size(computed: Iterable[Operation]) -> int:
    """Operations when functions are written out."""
    inner = [each for op in computed for each in op.walk()]
    return len(inner) + sum(round(_EXPONENTIAL * exponentials(each)) for each in inner if is_function(each))


def _extent(op: StoreOp, dim: int | None) -> int:
    return next(axis.extent for axis in space_of(op.value).axes if axis.dim.number == dim)


def _moves(value: SSAValue, *dims: int | None) -> bool:
    """Whether a tile differs along one of the dimensions."""
    return any(dim is not None and (space_of(value).extent_of(DimAttr.of(dim)) or 1) > 1 for dim in dims)
