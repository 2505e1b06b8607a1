"""Which nests compute several neighbouring vectors, or several rows, side by side.

Stores: a load waits for a store before it whose address has the same place in its page, although it reads something
else, and arguments lie where they lie. With the loads of several vectors before their stores that happens once for all
of them. Rows that are multiplied by the same vector read it once together.

Folds: the last additions of a row wait for each other, and those of several rows go on at once. Their sums are stored
as one vector, since whoever loads several would wait for stores of single ones.

Only timing depends on either choice: every element is computed as before.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.folds import ClosedFold, closed_fold_of
from tilewright.bridge.xir.layout import Layouts
from tilewright.bridge.xir.options import Use
from tilewright.bridge.xir.prices import EXPENSIVE, is_function
from tilewright.bridge.xir.records import NestPlan
from tilewright.bridge.xir.squares import inlined
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.regions import RegionOp
from tilewright.ir.ops.tiles import MapOp
from tilewright.ir.types import AxisAttr, DimAttr, is_tile, space_of

__all__ = ["abreast"]

_VECTORS = 4  # of all stores of a loop, in each row
_STORED_ROWS = 2  # on Zen 4 four rows were as fast, and slower where their stores and loads look alike
_FOLDED_ROWS = (4, 2)
_OPERATIONS = 128  # of a loop body, so that it stays quick to compile


def abreast(
    layouts: Layouts,
    nests: Mapping[int, NestPlan],
    fused: Mapping[int, int],
    joined: Mapping[int, tuple[int, ...]],
    partial: Collection[int],
) -> dict[int, NestPlan]:
    """The nests, with how many vectors and rows are computed at once; stores of one loop alike. `fused` and `joined`
    are those of the plan; dimensions in `partial` may end early.
    """
    if layouts.choice.program or layouts.placement.options.abreast is Use.NEVER:
        return dict(nests)
    return _Abreast(layouts, nests, fused, joined, partial).decided()


@dataclass(frozen=True)
class _Abreast:
    layouts: Layouts
    nests: Mapping[int, NestPlan]
    fused: Mapping[int, int]
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
            elif isinstance(op, MapOp) and nest.fold:
                found[last] = self._folded(op, nest)
        return found

    # ---- stores

    def _stored(self, stores: list[StoreOp], nest: NestPlan, own: NestPlan) -> NestPlan:
        """A store's own nest, with what the loop of all of them, of which `nest` is the last, computes at once."""
        computed = self._computed(stores)
        if not self._is_plain(nest) or not self._waits_for_loads(stores, computed):
            return own
        vectors = prod(_extent(stores[-1], dim) for dim in (*nest.merged, nest.lane)) // nest.width
        room = _OPERATIONS // (_size(computed) + len(stores))
        copies = max(1, min(_VECTORS // len(stores), vectors // 2, room))
        reads = self._reads(stores, computed)
        rows = min(self._rows(stores, nest), max(1, room // copies))
        apart = [value for value in reads if not _moves(value, nest.axes[-2:-1])]
        if rows == 1 or not apart:
            return replace(own, copies=copies)
        alone, together = len(reads), len(reads) - len(apart) * (rows - 1) / rows
        return replace(own, copies=copies, rows=rows, reads=(alone, together))

    def _is_plain(self, nest: NestPlan) -> bool:
        """Whether lanes are the innermost loop, in vectors that lie as they are computed."""
        return nest.lane is not None and nest.width > 1 and nest.across is None and nest.axes[-1] == nest.lane

    def _waits_for_loads(self, stores: list[StoreOp], computed: set[Operation]) -> bool:
        """Whether anything is read, and no function takes longer than that."""
        if any(isinstance(inner, RegionOp) for op in computed for inner in op.walk()):
            return False
        if not self._reads(stores, computed):
            return False
        lane = {self.nests[self.layouts.placement.structure.position[stores[-1]]].lane or 0}
        slow = (op for op in computed if isinstance(op, EXPENSIVE) and _moves(op.results[0], lane))
        return self._is_forced() or not any(slow)

    def _rows(self, stores: list[StoreOp], nest: NestPlan) -> int:
        """How many rows there may be at once."""
        if len(nest.axes) < 2 or nest.merged or nest.streaming or nest.axes[-2] in self.partial:
            return 1
        return _STORED_ROWS if _extent(stores[-1], nest.axes[-2]) % _STORED_ROWS == 0 else 1

    def _computed(self, stores: list[StoreOp]) -> set[Operation]:
        return {op for store in stores for op in inlined(self.layouts.placement, store, set())}

    def _reads(self, stores: list[StoreOp], computed: Iterable[Operation]) -> set[SSAValue]:
        """Tiles of which vectors are loaded, from views or buffers."""
        placement = self.layouts.placement
        used = {value for op in (*stores, *computed) for value in op.operands if is_tile(value)}
        loaded = {value for value in used if isinstance(value.owner, LoadOp) or not placement.is_inline(value)}
        lane = {self.nests[placement.structure.position[stores[-1]]].lane or 0}
        return {value for value in loaded if _moves(value, lane)}

    # ---- folds

    def _folded(self, op: MapOp, nest: NestPlan) -> NestPlan:
        """The nest of a fold with as many rows at once as registers and the size of the code allow."""
        fold, last = closed_fold_of(op), op.space.axes[-1] if op.space.rank else None
        if not isinstance(fold, ClosedFold) or last is None or nest.width == 1 or not self._lie_together(op, last):
            return nest
        placement, position = self.layouts.placement, self.layouts.placement.structure.position
        inside = [op, *(other for other, place in position.items() if self.fused.get(place) == position[op])]
        computed = {each for other in inside for each in (other, *inlined(placement, other, set()))} - {op}
        if not self._is_forced() and any(is_function(inner) for each in (op, *computed) for inner in each.walk()):
            return nest
        if fold.merge in ("max", "min") and not self._is_forced():
            return nest  # each partial has a mask of NaNs, and there are few registers for masks
        code = _size(computed) + sum(1 for _ in fold.reduce.body.block.ops)
        room = self.layouts.machine.vector_registers // (2 * placement.options.fold_partials)
        most = _FOLDED_ROWS[0] if self._is_forced() else min(room, _OPERATIONS // code)
        return replace(nest, rows=next((n for n in _FOLDED_ROWS if n <= most and last.extent % n == 0), 1))

    def _lie_together(self, op: MapOp, last: AxisAttr) -> bool:
        """Whether neighbouring results lie side by side in their buffer, as many as the axis has."""
        storage = self.layouts.storage_of(op.result)
        return storage is not None and storage.stride_of(last.dim.number) == 1 and last.dim.number not in self.partial

    def _is_forced(self) -> bool:
        return self.layouts.placement.options.abreast is Use.WHEREVER_LEGAL


def _size(computed: Iterable[Operation]) -> int:
    return sum(1 for op in computed for _ in op.walk())


def _extent(op: StoreOp, dim: int | None) -> int:
    return next(axis.extent for axis in space_of(op.value).axes if axis.dim.number == dim)


def _moves(value: SSAValue, dims: Iterable[int]) -> bool:
    """Whether a tile differs along one of the dimensions."""
    return any((space_of(value).extent_of(DimAttr.of(dim)) or 1) > 1 for dim in dims)
