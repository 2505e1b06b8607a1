"""Operands of products that are computed while their panels are packed, and need no buffer of their own.

Each condition has its own function, which gives the reason why an operand stays where it is. Where all hold, the
figures of the machine decide.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import fsum, log2

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.pointwise import PointRead, point_reads
from tilewright.bridge.xir.flow import tile_operands
from tilewright.bridge.xir.options import Packing, Use
from tilewright.bridge.xir.prices import EXPENSIVE, operation_price
from tilewright.bridge.xir.recompute import NEST, Weighed
from tilewright.bridge.xir.records import Fill
from tilewright.bridge.xir.sinks import Setting
from tilewright.core.machine import Level
from tilewright.ir.location import span_of
from tilewright.ir.ops import elementwise, regions, tiles
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.types import DimAttr, dtype_of, element_of, space_of, view_type

__all__ = ["Packed", "expression_of", "fill_of", "loads_of"]

_LONGEST = 64  # operations of one element
_CODE = 400  # operations of one square
_FEW_ROWS = 64  # that stay near while columns stream past
_PASSES = 3  # over what lies far, from which on panels pay
_EXPENSIVE = 24  # operations that stand for one function


@dataclass(frozen=True)
class Packed:
    """An operand as its panels would hold it.

    `along`: the dimension of a panel, rows or columns of C; `k`: the contracted one; `lanes` of one vector. `times` it
    is packed in one run of the product, and each panel is then read `passes` times. `in_place`: whether the operand
    could be read where it lies; else it would be kept in a buffer. `k_block`: the shortest one.
    """

    value: SSAValue
    along: DimAttr | None
    k: DimAttr
    lanes: int
    times: int
    passes: int
    in_place: bool
    is_rows: bool
    k_block: int
    in_registers: bool


def fill_of(op: tiles.MmaOp, packed: Packed, sink: Operation, setting: Setting) -> Fill | str:
    """How the operand is computed into panels, or why it is not."""
    reason = (
        _why_asked(packed, setting)
        or _why_no_panels(packed)
        or _why_not_elementwise(packed.value)
        or _why_shared(op, packed.value)
        or _why_overtaken(packed.value, sink, setting)
        or _why_long(packed.value)
    )
    return reason if reason is not None else _priced(op, packed, setting)


# ---- conditions


def _why_asked(packed: Packed, setting: Setting) -> str | None:
    """What the caller fixed."""
    if setting.options.fusion is Use.NEVER:
        return "no fusion is asked for"
    panels = setting.options.packing
    if panels is Packing.IN_PLACE or (panels is Packing.ONE and packed.is_rows):
        return "no panels of it are asked for"
    return None


def _why_no_panels(packed: Packed) -> str | None:
    """Why there can be no panels."""
    if packed.in_registers:
        return "sums stay in registers over several axes, so that nothing is packed"
    if packed.along is None or packed.k_block < 1:
        return "there is nothing to pack"
    return None


def _why_not_elementwise(value: SSAValue) -> str | None:
    """What in the operand is no elementwise work on loads."""
    for each in expression_of(value):
        owner = each.owner
        if not isinstance(owner, Operation):
            return "it reads a carried tile"
        if isinstance(owner, tiles.MapOp):
            if any(isinstance(inner, regions.CarryingOp) for inner in owner.walk()):
                return f"line {span_of(owner).line} folds"
            if any(space_of(tile).volume < space_of(each).volume for tile in tile_operands(owner)):
                return f"line {span_of(owner).line} shows elements many times"
        elif not isinstance(owner, elementwise.ElementwiseOp | LoadOp | tiles.ConstantOp):
            return f"it reads what line {span_of(owner).line} computes"
    return None


def _why_shared(op: Operation, value: SSAValue) -> str | None:
    """Whether others read it, for whom it would be computed again."""
    return None if all(use.operation is op for use in value.uses) else "others read it, too"


def _why_overtaken(value: SSAValue, sink: Operation, setting: Setting) -> str | None:
    """Whether a load in it would come after a store that it must not see."""
    for load in loads_of(value):
        overtaken = isinstance(sink, StoreOp) and sink.view is load.view
        between = setting.structure.writes_between(load, sink, load.view, may_alias=setting.may_alias)
        if overtaken or between is not None:
            return f"a store may overtake the load of line {span_of(load).line}"
    return None


def _why_long(value: SSAValue) -> str | None:
    return f"it takes more than {_LONGEST} operations" if _length(value) > _LONGEST else None


def expression_of(value: SSAValue) -> Iterator[SSAValue]:
    """The tile and all tiles that one element of it is computed from, each once."""
    found, pending = {value}, [value]
    while pending:
        each = pending.pop()
        yield each
        owner = each.owner
        if isinstance(owner, Operation) and not isinstance(owner, tiles.MmaOp | tiles.ScanOp | regions.RegionOp):
            fresh = [tile for tile in tile_operands(owner) if tile not in found]
            found.update(fresh)
            pending += fresh


def loads_of(value: SSAValue) -> list[LoadOp]:
    """The loads that it is computed from."""
    return [each.owner for each in expression_of(value) if isinstance(each.owner, LoadOp)]


def _computed(value: SSAValue) -> list[Operation]:
    """The elementwise operations of the expression that have all of its elements, inside of maps, too."""
    volume = space_of(value).volume
    owners = [each.owner for each in expression_of(value) if space_of(each).volume >= volume]
    inner = (op for owner in owners if isinstance(owner, Operation) for op in owner.walk())
    return [op for op in inner if isinstance(op, elementwise.ElementwiseOp)]


def _length(value: SSAValue) -> int:
    """Operations of XIR that one vector takes, roughly."""
    return sum(_EXPENSIVE if isinstance(op, EXPENSIVE) else 1 for op in _computed(value)) + 4 * len(loads_of(value))


# ---- prices


def _priced(op: tiles.MmaOp, packed: Packed, setting: Setting) -> Fill | str:
    """The cheaper direction, and whether it is cheaper than what there is without it."""
    turned, once = min(_directions(packed, setting), key=lambda each: each[1])
    prices = _prices(op, packed, once, setting)
    fill = Fill(turned, packed.lanes, prices)
    if setting.options.fusion is Use.WHEREVER_LEGAL:
        return fill
    if packed.is_rows and _extent(packed.value, packed.along) <= _FEW_ROWS:
        return "it has few rows"
    if packed.in_place and not _is_far(op, packed, setting) and not prices.recomputing_pays:
        return f"{prices.recompute:.0f} ns in panels, {prices.keep:.0f} ns in place"
    return f"cheaper to keep, {prices}" if prices.pays and not packed.in_place else fill


def _is_far(op: tiles.MmaOp, packed: Packed, setting: Setting) -> bool:
    """Whether columns would go through panels if they were of C's type, since no cache near holds them."""
    size = space_of(packed.value).volume * dtype_of(element_of(op.c)).itemsize
    return not packed.is_rows and packed.passes >= _PASSES and size > 2 * setting.machine.l2_bytes


def _directions(packed: Packed, setting: Setting) -> Iterator[tuple[bool, float]]:
    """Whether vectors run along k, and what computing one takes."""
    times, lanes, value = setting.machine.timings, packed.lanes, packed.value
    arithmetic = [operation_price(op, times) for op in _computed(value)]
    reads = list(point_reads(value, lambda _: False))
    if packed.along is not None:
        yield False, fsum([*arithmetic, *(_read_price(read, packed.along, lanes, setting) for read in reads)])
    fits = 1 < lanes <= packed.k_block and _length(value) * lanes <= _CODE
    if fits:
        turning = log2(lanes) / 2 * times.arithmetic
        yield True, fsum([*arithmetic, turning, *(_read_price(read, packed.k, lanes, setting) for read in reads)])


def _read_price(read: PointRead, dim: DimAttr, lanes: int, setting: Setting) -> float:
    """One vector of a load along a dimension."""
    load, times = read.value.owner, setting.machine.timings
    if not isinstance(load, LoadOp):
        return times.levels[Level.L1]
    moves = zip(read.dims, view_type(load.view).strides, strict=True)
    stride = sum(step for moved, step in moves if moved == dim)
    if stride == 0:
        return times.levels[Level.L1] / 2
    nearest = times.levels[setting.machine.level_of(_bytes(read.value))]
    return nearest if stride == 1 else nearest + lanes * times.gathered_lane


def _prices(op: tiles.MmaOp, packed: Packed, once: float, setting: Setting) -> Weighed:
    """Of one program: a buffer that is made and then read in each pass, or the operand where it lies; and panels."""
    machine, structure = setting.machine, setting.structure
    times = machine.timings
    runs = structure.trips_of(op) * packed.times
    matrix = _extent(packed.value, packed.along) * _extent(packed.value, packed.k) / packed.lanes
    bytes_of_one = dtype_of(element_of(op.c)).itemsize
    panel = times.levels[machine.level_of(packed.k_block * 4 * packed.lanes * bytes_of_one)]
    level = machine.level_of(_bytes(packed.value))
    passes = runs * matrix * packed.passes
    filled = runs * (matrix * (once + panel) + NEST * times.arithmetic) + passes * panel
    if packed.in_place:
        converting = times.arithmetic * (packed.lanes if packed.is_rows else 1)
        return Weighed(passes * (times.levels[level] + converting), filled, level)
    made = structure.trips_of(packed.value.owner) if isinstance(packed.value.owner, Operation) else 1
    whole = space_of(packed.value).volume / packed.lanes
    keep = made * (whole * (once + times.levels[level]) + NEST * times.arithmetic)
    return Weighed(keep + passes * times.levels[level], filled, level)


def _extent(value: SSAValue, dim: DimAttr | None) -> int:
    return (space_of(value).extent_of(dim) or 1) if dim is not None else 1


def _bytes(value: SSAValue) -> int:
    return space_of(value).volume * max(dtype_of(element_of(value)).bits // 8, 1)
