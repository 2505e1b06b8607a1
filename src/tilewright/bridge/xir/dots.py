"""Products with lanes along k, where rows lie along it: no row is turned. A matrix times a vector is one.

Sums are regrouped, so the product must permit it. Whether this is cheaper than lanes along rows or columns is asked in
`lanes.py`.
"""

from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilewright.bridge.xir.block_prices import Lines, Product
from tilewright.bridge.xir.contraction import (
    Demands,
    Outcome,
    assumed,
    is_zero,
    lanes_of,
    roles_of,
    stride_along,
    why_copied,
)
from tilewright.bridge.xir.fixed import is_fixed
from tilewright.bridge.xir.records import ContractPlan
from tilewright.bridge.xir.sinks import Setting, Sink, sink_of
from tilewright.ir.ops.tiles import MmaOp
from tilewright.ir.types import DimAttr, dtype_of, element_of, space_of

__all__ = ["plan_dots"]

_SHORT = 64  # steps of k for which no price of folds was measured


def plan_dots(op: MmaOp, setting: Setting) -> Outcome | str:
    """The plan with lanes along k, before its tile is chosen, or why that is not legal."""
    roles = roles_of(op)
    row, column = (max(dims, key=lambda dim: _extent(op.c, dim), default=None) for dims in (roles.rows, roles.columns))
    swapped = _size(op, row) < _size(op, column)
    if swapped:
        row, column = column, row
    dots = _Dots(op, sink_of(op, setting), *((op.b, op.a) if swapped else (op.a, op.b)), row, column)
    against = _why_not(dots, setting)
    if against is not None:
        return against
    reason, structure = _copied(dots, setting), setting.structure
    lanes = lanes_of(op, setting)
    others = [dim for dim in (*roles.batch, *roles.rows, *roles.columns) if dim not in (row, column)]
    direct = {dots.first: True, dots.second: reason is None}
    plan = ContractPlan(
        swapped=swapped,
        row=None if row is None else row.number,
        lane=None if column is None else column.number,
        k=dots.k.number,
        outer=tuple(dim.number for dim in others),
        a_direct=True,
        b_direct=reason is None,
        tile=(1, 1, 1),
        sink=structure.position[dots.sink.op],
        value=structure.numbers[dots.sink.value],
        from_zero=is_zero(op.c),
        along=lanes,
        product=dots.product(lanes, copied=reason is not None),
    )
    kept = {} if reason is None else {dots.second: reason}
    demands: Demands = dict.fromkeys(kept, plan.k)
    return Outcome(plan, dots.sink.absorbed, kept, {}, demands, assumed(direct, structure))


@dataclass(frozen=True)
class _Dots:
    """A product of `first`, which has the `row` dimension, and `second`, which has the `column` dimension."""

    op: MmaOp
    sink: Sink
    first: SSAValue
    second: SSAValue
    row: DimAttr | None
    column: DimAttr | None

    @property
    def k(self) -> DimAttr:
        """The contracted dimension that is longer than 1."""
        contracted = roles_of(self.op).contracted
        return next((dim for dim in contracted if _extent(self.first, dim) > 1), contracted[0])

    def product(self, lanes: int, *, copied: bool) -> Product:
        """What its tiles are chosen by: rows lie along k, and so do columns unless they are turned into a buffer."""
        size, depth = dtype_of(element_of(self.op.c)).itemsize, _extent(self.first, self.k)
        rows, columns = (_size(self.op, dim) for dim in (self.row, self.column))
        a = Lines((stride_along(self.first, self.row) or depth) * size)
        return Product(rows, columns, depth, lanes, size, a, Lines(depth * size, across=copied), Lines(columns * size))


def _why_not(dots: _Dots, setting: Setting) -> str | None:
    """Why lanes may not run along k, or None."""
    op, choice = dots.op, setting.choice
    if not op.reassociate.value.data:
        return "sums keep their order"
    if is_fixed(setting.options) or choice.fixed or choice.program:
        return "the caller says how products are computed"
    if not dtype_of(element_of(op.c)).is_float or {element_of(op.a), element_of(op.b)} != {element_of(op.c)}:
        return "operands are converted"
    longer = [dim for dim in roles_of(op).contracted if _extent(op.a, dim) != 1]
    if len(longer) != 1 or _extent(op.a, longer[0]) == 0:
        return "not one axis is contracted"
    if _extent(op.a, longer[0]) < _SHORT:
        return f"k is shorter than {_SHORT}, and each sum would be folded"
    if why_copied(dots.first, dots.sink.op, setting) or stride_along(dots.first, dots.k) != 1:
        return "the operand with the rows does not lie along k"
    size = space_of(dots.second).volume * dtype_of(element_of(op.b)).itemsize
    return None if size <= setting.machine.l2_bytes // 2 else "the other operand does not stay near"


def _copied(dots: _Dots, setting: Setting) -> str | None:
    """Why the operand with the columns gets a buffer, in which k is innermost; None where it is read as it lies."""
    reason = why_copied(dots.second, dots.sink.op, setting)
    return reason or (None if stride_along(dots.second, dots.k) == 1 else "it does not lie along k")


def _extent(value: SSAValue, dim: DimAttr) -> int:
    return space_of(value).extent_of(dim) or 0


def _size(op: MmaOp, dim: DimAttr | None) -> int:
    return 1 if dim is None else _extent(op.c, dim)
