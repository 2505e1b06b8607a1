"""What it costs to keep a tile in a buffer, and what to compute its elements again wherever they are read.

Both are right wherever both are legal, and give the same bits. Prices are nanoseconds of one program by the figures of
the machine. Two readers in a row may come to share a loop, and a fold may fill the buffer that it reads; neither is
known yet when a tile is placed, and prices leave it out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum, prod

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.affine import affine_of
from tilewright.analysis.structure import Structure
from tilewright.bridge.xir.flow import Read
from tilewright.bridge.xir.prices import EXPENSIVE, operation_price
from tilewright.core.dtypes import boolean
from tilewright.core.machine import Level, Machine
from tilewright.ir.ops import elementwise, regions, tiles
from tilewright.ir.types import SpaceAttr, dtype_of, element_of, is_tile, space_of

__all__ = ["NEST", "Closure", "Weighed", "evaluations", "has_expensive", "lanes_of", "weigh"]

_MASKS = 2  # operations between a mask of lanes and the bytes of a boolean tile
_LATENCY = 8  # what waits for one function, in vectors of it while many are under way
_MARGIN = 1.25  # a buffer must save a fifth
NEST = 64  # multiply-adds that entering one more loop nest takes: bounds, masks, a tail

Closure = frozenset[tuple[Operation, ...]]
"""What computing one element takes: operations, each with the extracts that lead to it, since every one repeats the
rest."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """The prices of both places of a tile, in nanoseconds of one program, and where a buffer of its size lies."""

    keep: float
    recompute: float
    level: Level

    @property
    def pays(self) -> bool:
        """Whether a buffer saves so much that it does so even if the readers come to share a loop in part."""
        return self.recompute > _MARGIN * self.keep

    @property
    def recomputing_pays(self) -> bool:
        """Whether computing again saves as much."""
        return self.keep > _MARGIN * self.recompute

    def __str__(self) -> str:
        return f"{self.keep:.0f} ns kept in {self.level}, {self.recompute:.0f} ns recomputed"


def has_expensive(closure: Closure) -> bool:
    """Whether an element takes a function, a division or a root."""
    return any(isinstance(path[-1], EXPENSIVE) for path in closure)


def lanes_of(value: SSAValue, machine: Machine, packet: int) -> int:
    """Elements of one vector. With a `packet`, each element is a vector of so many programs."""
    return 1 if packet else max(machine.vector_bits // max(dtype_of(element_of(value)).bits, 32), 1)


def weigh(value: SSAValue, closure: Closure, *, reads: float, trips: int, machine: Machine, packet: int = 0) -> Weighed:
    """Prices where readers take so many vectors, and the tile is made `trips` times."""
    volume, times, lanes = space_of(value).volume, machine.timings, lanes_of(value, machine, packet)
    level = machine.level_of(_bytes(value) * (packet or 1))
    packing = 0 if dtype_of(element_of(value)) is not boolean else _MASKS * times.arithmetic
    access, once = times.levels[level] + packing, _closure_price(value, closure, machine, lanes)
    keep = trips * (volume / lanes * (once + access) + NEST * times.arithmetic) + reads * access
    return Weighed(keep, reads * once, level)


def _closure_price(value: SSAValue, closure: Closure, machine: Machine, lanes: int) -> float:
    """Of one vector: operations, and loads of what they read. What lies along outer axes only is computed there."""
    space = space_of(value)
    ops = [path[-1] for path in closure]
    computed = [
        _share(op.result, space, lanes) * operation_price(op, machine.timings)
        for op in ops
        if isinstance(op, elementwise.ElementwiseOp)
    ]
    read = [
        _share(leaf, space, lanes) * machine.timings.levels[machine.level_of(_bytes(leaf))]
        for leaf in _leaves(set(ops))
    ]
    return fsum([*computed, *read])  # the same in any order, which sets do not keep


def _leaves(computed: set[Operation]) -> set[SSAValue]:
    """The tiles that operations read and do not compute."""
    read = {operand for op in computed for operand in op.operands if is_tile(operand)}
    return {value for value in read if value.owner not in computed and not isinstance(value.owner, tiles.ConstantOp)}


def _bytes(value: SSAValue) -> int:
    return space_of(value).volume * max(dtype_of(element_of(value)).bits // 8, 1)


def _share(part: SSAValue, space: SpaceAttr, lanes: int) -> float:
    """How often a part is computed for a vector of the space: along outer axes only, once for a whole row."""
    if not is_tile(part) or not _is_outer(part, space):
        return 1.0
    return min(lanes * space_of(part).volume / max(space.volume, 1), 1.0)


def evaluations(
    value: SSAValue, reads: Mapping[Operation, Read], structure: Structure, lanes: int, *, costly: bool
) -> float:
    """How many vectors one program computes when every operation computes what it reads. `costly` says that an element
    takes a function.
    """
    return sum(structure.trips_of(op) * _evaluated(value, read, lanes, costly=costly) for op, read in reads.items())


def _evaluated(value: SSAValue, read: Read, lanes: int, *, costly: bool) -> float:
    """Where a reader has further axes inside those of the tile, it computes one
    element for a whole row: what is cheap hides behind the row, and it waits for what is costly.
    """
    volume, point = space_of(value).volume, read.op
    if isinstance(point, tiles.MmaOp):
        made = [point.operands[read.operand]]  # computed element by element, where panels are packed or sums begin
    else:
        made = [other for other in (*point.results, *point.operands) if is_tile(other)]
    if isinstance(point, tiles.MapOp | tiles.ScanOp):
        repeats = sum(_repeats(use.operation, point) for use in value.uses if point.is_ancestor(use.operation))
        return max(volume, repeats) / lanes
    space = max((space_of(other) for other in made), key=lambda each: each.volume, default=space_of(value))
    if _is_outer(value, space):
        return _LATENCY * volume if costly and space.volume > volume else volume / lanes
    return max(volume, space.volume) / lanes


def _repeats(op: Operation, point: Operation) -> int:
    """How many elements an extract inside a map reads, all loops counted along which it moves."""
    coords = op.coords if isinstance(op, tiles.ExtractOp) else ()
    forms = [affine_of(coord) for coord in coords]
    count, region = 1, op.parent_op()
    while region is not None:
        if isinstance(region, tiles.MapOp | regions.RegionOp):
            indices = region.body.block.args[: region.space.rank]
            moving = zip(indices, region.space.extents, strict=True)
            count *= prod(
                extent for index, extent in moving if any(form is None or form.coefficient(index) for form in forms)
            )
        if region is point:
            break
        region = region.parent_op()
    return count


def _is_outer(value: SSAValue, space: SpaceAttr) -> bool:
    """Whether a tile has the outermost axes of a space and no others."""
    own = [axis.dim for axis in space_of(value).axes if axis.extent > 1]
    return own == [axis.dim for axis in space.axes if axis.extent > 1][: len(own)]
