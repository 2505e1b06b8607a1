"""Where carried tiles live.

Each carry has a home buffer; a yielded tile may be computed straight into it when nobody still needs the old value.
Everything else is staged: computed into a buffer of its own, and copied home after all yields are computed.
"""

from xdsl.ir import Operation, SSAValue

from tilewright.bridge.xir.flow import Read
from tilewright.bridge.xir.placement import Placement
from tilewright.bridge.xir.records import Place
from tilewright.ir.ops import elementwise, tiles
from tilewright.ir.ops.regions import CarryingOp, YieldOp
from tilewright.ir.types import is_tile, space_of

__all__ = ["share_homes"]


def share_homes(placement: Placement) -> frozenset[tuple[int, int]]:
    """Give carries, results and fit yields one buffer each. Returns the staged (region position, carry index) pairs."""
    staged: set[tuple[int, int]] = set()
    regions = [op for op in placement.structure.position if isinstance(op, CarryingOp)]
    for region in regions:
        for index, carry in enumerate(region.carries):
            if is_tile(carry) and not _share(placement, region, index, carry):
                staged.add((placement.structure.position[region], index))
    return frozenset(staged)


def _share(placement: Placement, region: CarryingOp, index: int, carry: SSAValue) -> bool:
    """Put the result at the carry's home, and the yielded tile too when that is safe."""
    home = placement.structure.numbers[carry]
    placement.places[region.results_[index]] = Place(home, "result of a carry")
    terminator = region.body.block.last_op
    yielded = terminator.values[index] if isinstance(terminator, YieldOp) else carry
    if yielded is carry:
        return True
    if not _may_overwrite(placement, region, carry, yielded):
        return False
    if not placement.is_inline(yielded):
        placement.places[yielded] = Place(home, "computed into the carry's home")
    return True


def _may_overwrite(placement: Placement, region: CarryingOp, carry: SSAValue, yielded: SSAValue) -> bool:
    """Whether computing `yielded` into the carry's home destroys nothing that is read afterwards."""
    writer = yielded.owner
    terminator = region.body.block.last_op
    if not isinstance(writer, Operation) or terminator is None or writer.parent is not region.body.block:
        return False
    if space_of(yielded) != space_of(carry) or isinstance(writer, CarryingOp | tiles.ScanOp):
        return False
    if sum(use.operation is terminator for use in yielded.uses) != 1:
        return False
    if placement.is_inline(yielded):
        return _reads_end_before(placement, region, carry, terminator)
    return not _is_shared(placement, yielded) and _reads_end_before(placement, region, carry, writer)


def _is_shared(placement: Placement, value: SSAValue) -> bool:
    return placement.places[value].storage != placement.structure.numbers[value]


def _reads_end_before(placement: Placement, region: CarryingOp, carry: SSAValue, point: Operation) -> bool:
    """Whether the carry is read before `point` only, or by it element by element."""
    structure = placement.structure
    for read in placement.reads(carry):
        inside = structure.ancestor_in(read.op, region.body.block)
        if inside is None or structure.position[inside] > structure.position[point]:
            return False
        if inside is point and not (read.op is point and _is_pointwise(read, region, carry)):
            return False
    return True


def _is_pointwise(read: Read, region: CarryingOp, carry: SSAValue) -> bool:
    """Whether an element of the carry is read only to compute the same element of what replaces it."""
    if read.displaced:
        return False
    match read.op:
        case YieldOp():
            return read.operand == region.carries.index(carry)
        case _:
            return isinstance(read.op, elementwise.ElementwiseOp | tiles.MmaOp)
