"""Which stores compute several neighbouring vectors, or those of two rows, before they write any of them.

A load waits for a store before it whose address has the same place in its page, although it reads something else, and
arguments lie where they lie. With the loads of several vectors before their stores that happens once for all of them.
Rows that read the same vector, such as a weight, read it once together. Only timing depends on the choice.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import Operation, SSAValue

from tilewright.bridge.xir.layout import Layouts
from tilewright.bridge.xir.options import Use
from tilewright.bridge.xir.prices import EXPENSIVE
from tilewright.bridge.xir.records import NestPlan
from tilewright.bridge.xir.squares import inlined
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.regions import RegionOp
from tilewright.ir.types import DimAttr, is_tile, space_of

__all__ = ["abreast"]

_VECTORS = 4  # of all stores of a loop, in each row
_ROWS = 2
_TURNS = 16
_OPERATIONS = 64  # of a loop body, so that it stays quick to compile


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
        if not self._is_plain(nest) or not self._waits_for_loads(stores, computed):
            return own
        vectors = prod(_extent(stores[-1], dim) for dim in (*nest.merged, nest.lane)) // nest.width
        copies = max(1, min(_VECTORS // len(stores), vectors // 2, _OPERATIONS // (_size(computed) + len(stores))))
        reads = self._reads(stores, computed)
        apart = [value for value in reads if not _moves(value, nest.axes[-2:-1])]
        if copies == 1 or not apart or not self._are_whole(stores, nest):
            return replace(own, copies=copies)
        turns = _extent(stores[-1], nest.axes[-2]) // _ROWS * vectors // copies
        copies = copies if turns >= _TURNS else copies // 2  # twice the code is for longer loops
        together = len(reads) - len(apart) * (_ROWS - 1) / _ROWS
        return replace(own, copies=copies, rows=_ROWS, reads=(len(reads), together))

    def _is_plain(self, nest: NestPlan) -> bool:
        """Whether lanes are the innermost loop, in vectors that lie as they are computed."""
        return nest.lane is not None and nest.width > 1 and nest.across is None and nest.axes[-1] == nest.lane

    def _waits_for_loads(self, stores: list[StoreOp], computed: set[Operation]) -> bool:
        """Whether anything is read, and no function or division of a vector takes longer than that."""
        if any(isinstance(inner, RegionOp) for op in computed for inner in op.walk()):
            return False
        if not self._reads(stores, computed):
            return False
        lane = {self.nests[self.layouts.placement.structure.position[stores[-1]]].lane or 0}
        slow = (op for op in computed if isinstance(op, EXPENSIVE) and _moves(op.results[0], lane))
        return self._is_forced() or not any(slow)

    def _are_whole(self, stores: list[StoreOp], nest: NestPlan) -> bool:
        """Whether rows always come in groups, each from its beginning to its end."""
        if len(nest.axes) < 2 or nest.merged or nest.streaming or nest.axes[-2] in self.partial:
            return False
        return _extent(stores[-1], nest.axes[-2]) % _ROWS == 0

    def _computed(self, stores: list[StoreOp]) -> set[Operation]:
        return {op for store in stores for op in inlined(self.layouts.placement, store, set())}

    def _reads(self, stores: list[StoreOp], computed: Iterable[Operation]) -> set[SSAValue]:
        """Tiles of which vectors are loaded, from views or buffers."""
        placement = self.layouts.placement
        used = {value for op in (*stores, *computed) for value in op.operands if is_tile(value)}
        loaded = {value for value in used if isinstance(value.owner, LoadOp) or not placement.is_inline(value)}
        lane = {self.nests[placement.structure.position[stores[-1]]].lane or 0}
        return {value for value in loaded if _moves(value, lane)}

    def _is_forced(self) -> bool:
        return self.layouts.placement.options.abreast is Use.WHEREVER_LEGAL


def _size(computed: Iterable[Operation]) -> int:
    return sum(1 for op in computed for _ in op.walk())


def _extent(op: StoreOp, dim: int | None) -> int:
    return next(axis.extent for axis in space_of(op.value).axes if axis.dim.number == dim)


def _moves(value: SSAValue, dims: Iterable[int]) -> bool:
    """Whether a tile differs along one of the dimensions."""
    return any((space_of(value).extent_of(DimAttr.of(dim)) or 1) > 1 for dim in dims)
