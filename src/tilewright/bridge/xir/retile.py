"""Which tiles the plan starts from: user blocks are forgotten where a proof allows it, and cut again at sizes of our
choosing.

A constraint on the mapping of root programs (order, block size, program lanes) keeps the kernel's own tiles.
"""

from collections.abc import Collection, Iterator
from math import prod

from xdsl.ir import Operation

from tilewright.analysis.limits import extent_of
from tilewright.bridge.xir.admission import admit
from tilewright.bridge.xir.options import Program, XirOptions
from tilewright.bridge.xir.prices import is_function
from tilewright.bridge.xir.squares import dims_across
from tilewright.core.abi import Usage
from tilewright.core.machine import Machine
from tilewright.ir.effects import usage
from tilewright.ir.kernel import Kernel
from tilewright.ir.ops import regions, tiles
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.memory import MemoryAllocOp
from tilewright.ir.rewrite import TilePass, Trace, run_pipeline
from tilewright.ir.types import DimAttr, SpaceAttr, ViewType, dtype_of, space_of, view_type
from tilewright.passes.clip_axes import ClipAxes
from tilewright.passes.coalesce_axes import CoalesceAxes
from tilewright.passes.decide_comparisons import DecideComparisons
from tilewright.passes.dissolve_loops import DissolveLoops
from tilewright.passes.erase_dead_code import EraseDeadCode
from tilewright.passes.fold_constants import FoldConstants
from tilewright.passes.guard_iterations import GuardIterations
from tilewright.passes.merge_equal_values import MergeEqualValues
from tilewright.passes.peel_blocks import PeelBlocks
from tilewright.passes.split_loops import SplitLoops
from tilewright.passes.strip_axis import StripAxis, why_not_strippable
from tilewright.passes.unify_axes import UnifyAxes

__all__ = ["AFTER_STRIPS", "FORGET_BLOCKS", "assumed_disjoint", "keeps_tiles", "retile", "strips"]

FORGET_BLOCKS: tuple[TilePass, ...] = (
    DecideComparisons(),  # first: a condition that always holds is nothing to wait for
    GuardIterations(),  # before dissolving, which must see what the iterations of a loop skip
    DissolveLoops(),
    CoalesceAxes(),  # after dissolving, so that a loop index is no longer in the way
    FoldConstants(),  # the indices that became 0
    EraseDeadCode(),
    ClipAxes(),  # after folding, so that origins are plain
    UnifyAxes(),  # after clipping, which judges axes one by one; what it makes equal is merged in the final tiles
)
AFTER_STRIPS: tuple[TilePass, ...] = (
    PeelBlocks(),  # in the final tiles, whose last block is known
    FoldConstants(),
    SplitLoops(),  # after peeling, whose arms may hold loops; before what both decide is dropped
    DecideComparisons(),  # in the final tiles, whose blocks may all lie inside
    MergeEqualValues(),
    EraseDeadCode(),
)

_CONTRACTION_BLOCK = 64
_FLAT_BLOCK = 4096
_TASKS = 4  # of short rows, for each thread
_COLUMN_BLOCK = 256
_ROWS_AT_ONCE = 64
_ACROSS_BLOCK = 64  # of an axis that loads lie along: squares of lanes, and whole lines of narrow elements
_LINES = 16  # that a row reads and writes, so that what is done once a row does not matter
_REGISTER_TILE = (8, 16)  # rows, and columns of one vector
_LANES = 16
_READ = 0.5  # vector operations that reading an element of an operand counts for


def keeps_tiles(options: XirOptions, threads_per_group: int) -> bool:
    """Whether a constraint speaks about the programs or the axes that the kernel itself has."""
    named = isinstance(options.lanes, Program) or (options.lanes is not None and options.lanes.axis)
    return bool(named or options.root_axis_order or options.block_size or threads_per_group or not options.retile)


def retile(kernel: Kernel, threads: int, machine: Machine, *, without: Collection[str] = ()) -> tuple[Kernel, Trace]:
    """A kernel with equal results in tiles that suit the machine, and what was done or declined on the way.

    `without` names passes of `RETILING` that are left out.
    """
    admit(kernel)
    if any(isinstance(op, MemoryAllocOp) for op in kernel.op.walk()):
        return kernel, Trace(())  # who places data by hand has chosen the tiles
    module = kernel.module.clone()

    def passes() -> Iterator[TilePass]:
        yield from FORGET_BLOCKS
        merged = Kernel(module, kernel.name, kernel.rewritten_source)
        yield from (*strips(merged, threads, machine), *AFTER_STRIPS)

    trace = run_pipeline(module, (each for each in passes() if each.name not in without), original=kernel)
    return kernel.rewritten(module, trace.digest), trace


def assumed_disjoint(kernel: Kernel, trace: Trace) -> frozenset[tuple[int, int]]:
    """Pairs of arguments that must not overlap now that programs were cut into several.

    Of each pair one is written: a load of the other was a snapshot of before, and two stores had an order.
    """
    if not any(record.name == StripAxis.name and record.changes for record in trace.records):
        return frozenset()
    used = [(place, use) for place, use in enumerate(usage(kernel.op)) if use is not Usage.NONE]
    written = [place for place, use in used if Usage.WRITE in use]
    return frozenset((a, b) for a, _ in used for b in written if a != b)


def strips(kernel: Kernel, threads: int, machine: Machine) -> Iterator[StripAxis]:
    """How independent axes are cut into programs, outermost axis first."""
    root = admit(kernel)
    dims = independent_axes(root)
    if not dims:
        return
    for cut in _wanted(root, dims, threads, machine):
        if why_not_strippable(root, DimAttr.of(cut.dim), cut.block) is None:
            yield cut


def _wanted(root: regions.ParallelOp, dims: list[DimAttr], threads: int, machine: Machine) -> Iterator[StripAxis]:
    if _is_one_contraction(root):
        yield from _tasks(root, dims, threads)
        return
    across = {dim for op in root.walk() if isinstance(op, StoreOp) for dim in dims_across(op)}
    for dim in dims:
        size = _block_of(root, dims, dim, threads, machine)
        size = max(size, _ACROSS_BLOCK) if dim in across else size
        if extent_of(root, dim) > size:
            afar = size == 1 and dim == dims[-1] and _come_from_afar(root, dim, machine)
            yield StripAxis(dim.number, size, ", since rows come from afar" if afar else "")


def _block_of(root: regions.ParallelOp, dims: list[DimAttr], dim: DimAttr, threads: int, machine: Machine) -> int:
    """How much of an independent axis one program takes: of the last one along memory all, or a flat block; of the
    rows around it what suits caches and products, or short ones that make a flat block together; of everything outside
    one element.
    """
    along = _runs_along(root, dims[-1])
    if along and dims == [dim]:
        return _COLUMN_BLOCK if _has(root, regions.CarryingOp) else _FLAT_BLOCK
    if along and dim == dims[-1]:
        return extent_of(root, dim)
    if dim != dims[-2 if along else -1]:
        return 1
    least = _CONTRACTION_BLOCK if _has(root, tiles.MmaOp) else 1
    others = root.space.volume * prod(extent_of(root, outer) for outer in dims[: dims.index(dim)])
    if along:
        row = extent_of(root, dims[-1])
        return max(least, min(_FLAT_BLOCK // max(row, 1), -(-extent_of(root, dim) // (_TASKS * max(threads, 1)))))
    return max(least, _rows_at_once(root, dim, -(-threads // max(others, 1)), machine))


def _runs_along(root: regions.ParallelOp, dim: DimAttr) -> bool:
    """Whether most of what is read and written lies side by side along the axis."""
    side_by_side = apart = 0
    for space, view in _accesses_over(root, dim):
        if view.strides[space.dims.index(dim)] == 1:
            side_by_side += space.volume
        else:
            apart += space.volume
    return side_by_side >= apart


def _rows_at_once(root: regions.ParallelOp, dim: DimAttr, parts: int, machine: Machine) -> int:
    """Rows whose elements stay in the first cache from one pass over them to the next, in so many parts at least; all
    when there are few, and one where they come from afar.
    """
    extent = extent_of(root, dim)
    row = _bytes_of_rows(root, dim) // extent
    if row * extent <= machine.l2_bytes // 8:
        return extent
    if _come_from_afar(root, dim, machine):
        return 1
    most = max(1, min(machine.l1_bytes // 2 // row, _ROWS_AT_ONCE, -(-extent // parts)))
    return next((size for size in range(most, most // 2, -1) if extent % size == 0), most)


def _bytes_of_rows(root: regions.ParallelOp, dim: DimAttr) -> int:
    """What all rows of a program read and write."""
    accesses = _accesses_over(root, dim)
    return sum(space.volume * dtype_of(view.element).itemsize for space, view in accesses)


def _come_from_afar(root: regions.ParallelOp, dim: DimAttr, machine: Machine) -> bool:
    """Whether rows lie beyond the second cache, are not short, and are passed over with plain arithmetic.

    Lines are then fetched ahead best where one row follows the other. Functions take longer than memory, and several
    rows hide how long one of them takes; scans and loops may have lanes across the rows; a fold that has no rows is
    computed for each program.
    """
    rows = _bytes_of_rows(root, dim)
    if rows * root.space.volume <= machine.l2_bytes or rows < _LINES * machine.cache_line * extent_of(root, dim):
        return False
    for op in root.walk():
        if isinstance(op, tiles.ScanOp) or is_function(op):
            return False
        if isinstance(op, tiles.MapOp) and dim not in space_of(op.result).dims:
            return False
        if isinstance(op, regions.CarryingOp) and not isinstance(op.parent_op(), tiles.MapOp):
            return False
    return True


def _accesses_over(root: regions.ParallelOp, dim: DimAttr) -> list[tuple[SpaceAttr, ViewType]]:
    """Space and view of every load and store of a tile that has the axis."""
    found: list[tuple[SpaceAttr, ViewType]] = []
    for op in root.walk():
        if isinstance(op, LoadOp | StoreOp):
            space = space_of(op.value if isinstance(op, StoreOp) else op.result)
            found += [(space, view_type(op.view))] if dim in space.dims else []
    return found


def independent_axes(root: regions.ParallelOp) -> list[DimAttr]:
    """The tile axes that may be cut, in the order in which the first store lays them out."""
    store = next((op for op in root.walk() if isinstance(op, StoreOp)), None)
    if store is None:
        return []
    return [
        axis.dim
        for axis in space_of(store.value).axes
        if axis.extent > 1 and why_not_strippable(root, axis.dim, block=1) is None
    ]


def _has(root: regions.ParallelOp, kind: type[Operation]) -> bool:
    return any(isinstance(op, kind) for op in root.walk())


def _is_one_contraction(root: regions.ParallelOp) -> bool:
    """Whether the program is one product with what elementwise work follows it: then nothing needs to fit a cache."""
    products = [op for op in root.walk() if isinstance(op, tiles.MmaOp)]
    return len(products) == 1 and not _has(root, regions.CarryingOp)


def _tasks(root: regions.ParallelOp, dims: list[DimAttr], threads: int) -> Iterator[StripAxis]:
    """Batches one by one; a product in as many parts as there are threads for it, in whole register tiles."""
    for dim in dims[:-2]:
        yield StripAxis(dim.number, 1)
    threads = -(-threads // max(root.space.volume, 1))
    if len(dims) > 2 or threads <= 1:
        return
    extents = [extent_of(root, dim) for dim in dims]
    for dim, extent, part in zip(dims, extents, parts_of(extents, threads), strict=True):
        if part < extent:
            yield StripAxis(dim.number, part)


def parts_of(extents: list[int], threads: int) -> tuple[int, ...]:
    """Rows and columns (or what there is of them) of one task of a product, so that the last one ends first.

    The cost of a step of k: multiply-adds of the largest task, in vectors, and what it reads of both operands.
    """
    grids = [(rows, threads // rows) for rows in range(threads, 0, -1)]
    parts = [tuple(_part(*each) for each in zip(extents, grid, _REGISTER_TILE, strict=False)) for grid in grids]
    return min(parts, key=_cost_of_part)


def _part(extent: int, count: int, multiple: int) -> int:
    return min(extent, -(-extent // (count * multiple)) * multiple)


def _cost_of_part(part: tuple[int, ...]) -> float:
    return prod(part) / _LANES + _READ * sum(part)
