"""Which way the lanes of a product run: along k, or along rows or columns. All ways have prices of one kind, and the
cheapest is taken.
"""

from dataclasses import replace

from tilewright.bridge.xir.blocking import Bounds, Search, Way, cheapest, cheapest_dots
from tilewright.bridge.xir.contraction import Outcome, plan_contraction, times_of
from tilewright.bridge.xir.dots import plan_dots
from tilewright.bridge.xir.records import Fill
from tilewright.bridge.xir.sinks import Setting
from tilewright.ir.ops.tiles import MmaOp

__all__ = ["plan_product"]


def plan_product(op: MmaOp, setting: Setting, runs: int) -> Outcome:
    """The plan of a product that one worker comes to `runs` times. Its blocks are chosen later, when tiles have their
    places; what lanes along k take, or why they cannot be, is kept till then.
    """
    along, across = plan_dots(op, setting), plan_contraction(op, setting)
    if isinstance(along, str) or along.plan.product is None or across.plan.product is None:
        return _with(across, along if isinstance(along, str) else None)
    product = replace(along.plan.product, runs=runs * times_of(op, along.plan))
    dots = cheapest_dots(product, setting.machine)
    a_lanes = across.plan.a_fill.lanes if isinstance(across.plan.a_fill, Fill) else 0
    bounds = Bounds(may_split=True, in_registers=bool(across.plan.folds), a_lanes=a_lanes)
    other = replace(across.plan.product, runs=runs * times_of(op, across.plan))
    blocks = cheapest(other, setting.machine, setting.options, bounds)
    if blocks.chosen.terms.total <= dots.terms.total:
        return _with(across, dots)
    search = Search(dots, (blocks.chosen, *blocks.others), blocks.rejected, blocks.count + 1)
    tile = dots.blocks.rows, dots.blocks.vectors, 1
    return replace(along, plan=replace(along.plan, tile=tile, product=product, search=search))


def _with(outcome: Outcome, dots: Way | str | None) -> Outcome:
    return replace(outcome, plan=replace(outcome.plan, dots=dots))
