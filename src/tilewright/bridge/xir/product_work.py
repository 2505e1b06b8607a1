"""What the products of a kernel take in one program, by the prices of their blocks: for the rows and columns that a
program really has.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product as every

from tilewright.bridge.xir.blocking import price_of
from tilewright.bridge.xir.contraction import times_of
from tilewright.bridge.xir.records import ContractPlan, LimitPlan
from tilewright.core.machine import Machine
from tilewright.ir.ops.tiles import MmaOp

__all__ = ["ProductWork", "product_work"]


@dataclass(frozen=True, slots=True)
class ProductWork:
    """Nanoseconds: of a program on average, and of one with whole blocks; and what a worker takes once a launch."""

    average: float
    whole: float
    once: float


def product_work(
    op: MmaOp, plan: ContractPlan, limits: Mapping[int, LimitPlan], machine: Machine, trips: int
) -> ProductWork:
    """Of one product that a program comes to so many times; nothing where its blocks have no price."""
    product, search = plan.product, plan.search
    if product is None or search is None:
        return ProductWork(0.0, 0.0, 0.0)
    times = float(trips * times_of(op, plan))
    whole = average = 0.0
    sizes = _sizes(product.rows, plan.row, limits), _sizes(product.columns, plan.lane, limits)
    for (rows, some), (columns, others) in every(*sizes):
        known = (rows, columns) == (product.rows, product.columns)
        part = replace(product, rows=rows, columns=columns)
        terms = search.chosen.terms if known else price_of(part, search.chosen.blocks, machine)
        buffered = terms.copies if plan.along else 0.0  # the loop that fills a buffer counts by itself
        taken = times * (terms.total - terms.once - buffered)
        average += some * others * taken
        whole = max(whole, taken)
    seen = [limits[dim] for dim in plan.outer if dim in limits]
    for limit in seen:
        average *= limit.size / (limit.blocks * limit.extent)
    return ProductWork(average, whole, search.chosen.terms.once * product.runs)


def _sizes(extent: int, dim: int | None, limits: Mapping[int, LimitPlan]) -> Iterator[tuple[int, float]]:
    """Elements along a dimension that programs see, and how large a part of them does."""
    limit = None if dim is None else limits.get(dim)
    if limit is None:
        yield extent, 1.0
        return
    if limit.blocks > 1:
        yield extent, (limit.blocks - 1) / limit.blocks
    yield limit.last, 1 / limit.blocks
