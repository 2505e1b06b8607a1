"""How many bytes of its arguments a program touches, and all programs of a launch: which caches can hold them."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.analysis.affine import affine_of
from tilewright.ir.ops.access import LoadElementOp, LoadOp, StoreElementOp, StoreOp, UpdateOp
from tilewright.ir.ops.regions import ParallelOp, RegionOp
from tilewright.ir.ops.tiles import MapOp
from tilewright.ir.types import dtype_of, is_tile, space_of, view_type

__all__ = ["Access", "Footprint", "extents_of", "footprint_of", "starts_of"]

Access = LoadOp | StoreOp | UpdateOp | LoadElementOp | StoreElementOp
_Moves = frozenset[tuple[SSAValue, int]]
_Box = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes of views: what one program touches, and what the whole launch does."""

    program: float
    launch: float


def footprint_of(root: ParallelOp) -> Footprint:
    """By the affine forms of origins: accesses that move alike share one box, others count apart, up to the view."""
    by_view: dict[SSAValue, list[Access]] = {}
    for op in root.walk():
        if isinstance(op, Access):
            by_view.setdefault(op.view, []).append(op)
    program = launch = 0.0
    for view, accesses in by_view.items():
        kind = view_type(view)
        size = max(dtype_of(kind.element).bits // 8, 1)
        whole = kind.space.volume
        touched = min(sum(_elements(accesses, root)), whole)
        program += size * touched
        launch += size * min(touched * max(root.space.volume, 1), whole)
    return Footprint(program, launch)


def _elements(accesses: list[Access], root: ParallelOp) -> Iterator[int]:
    boxes: dict[tuple[_Moves, ...], _Box] = {}
    for op in accesses:
        forms = [None if is_tile(start) else affine_of(start) for start in starts_of(op)]
        known = [form for form in forms if form is not None]
        if len(known) < len(forms):
            yield prod(extents_of(op)) * _trips(op, root)
            continue
        key = tuple(frozenset(form.terms.items()) for form in known)
        ends = [(form.constant, form.constant + extent) for form, extent in zip(known, extents_of(op), strict=True)]
        old = boxes.get(key, ends)
        boxes[key] = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(old, ends, strict=True)]
    for key, box in boxes.items():
        indices = {index for moves in key for index, _ in moves if index not in root.indices}
        yield prod(end - start for start, end in box) * prod(map(_extent, indices))


def starts_of(op: Access) -> tuple[SSAValue, ...]:
    """Where an access begins in its view, axis by axis; tiles where every element goes to a place of its own."""
    match op:
        case LoadOp() | StoreOp():
            return tuple(op.origin)
        case UpdateOp():
            return tuple(op.coords)
        case _:
            return tuple(op.index)


def extents_of(op: Access) -> tuple[int, ...]:
    """Elements of an access along each axis of its view."""
    match op:
        case LoadOp():
            return space_of(op.result).extents
        case StoreOp():
            return space_of(op.value).extents
        case UpdateOp():
            return (space_of(op.value).volume, *[1] * (len(op.coords) - 1))
        case _:
            return (1,) * len(op.index)


def _extent(index: SSAValue) -> int:
    """Of the loop or map that an index belongs to."""
    owner = index.block.parent_op() if isinstance(index, BlockArgument) else None
    if isinstance(index, BlockArgument) and isinstance(owner, RegionOp | MapOp) and index.index < owner.space.rank:
        return max(owner.space.extents[index.index], 1)
    return 1


def _trips(op: Operation, root: ParallelOp) -> int:
    """Iterations of everything around an operation inside the root."""
    count, region = 1, op.parent_op()
    while region is not None and region is not root:
        count *= max(region.space.volume, 1) if isinstance(region, RegionOp | MapOp) else 1
        region = region.parent_op()
    return count
