"""The decisions below the root as lines for a reader."""

from collections.abc import Iterator, Mapping

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.structure import Structure
from tilewright.bridge.xir.flow import is_anchored
from tilewright.bridge.xir.records import Caching, ContractPlan, Decisions, Fill, NestPlan, Shared
from tilewright.ir.kernel import Kernel
from tilewright.ir.location import span_of
from tilewright.ir.types import DimAttr, is_tile

__all__ = ["notes_of"]


def notes_of(kernel: Kernel, structure: Structure, decisions: Decisions) -> Iterator[str]:
    """Every decision below the root, a line each."""
    numbers = structure.numbers
    operations = {position: op for op, position in structure.position.items()}
    for position, nest in decisions.nests.items():
        loops = " x ".join(_label(kernel, dim) for dim in nest.axes) or "one point"
        lanes = "scalar" if nest.lane is None else f"{nest.width} lanes along {_label(kernel, nest.lane)}"
        lanes += "".join(f", through {_label(kernel, dim)} without a gap" for dim in reversed(nest.merged))
        lanes += f", {nest.copies} vectors at once" if nest.copies > 1 else ""
        lanes += f", {nest.rows} rows at once{_reads(nest)}" if nest.rows > 1 else ""
        lanes += "".join(_turned(kernel, nest))
        line = span_of(operations[position]).line
        yield f"line {line}: {nest.what} over {loops}, {lanes}{_cached(nest)}{_weighed(kernel, nest)}"
    for last, others in decisions.joined.items():
        lines = ", ".join(str(span_of(operations[other]).line) for other in others)
        yield f"line {span_of(operations[last]).line}: stored in one loop with what line {lines} stores"
    for position, item in decisions.contracts.items():
        rows, vectors, lanes = item.tile
        line = span_of(operations[position]).line
        why = "".join(f"; {reason}" for reason in item.why)
        if item.along:
            along = f"{item.along} lanes along {_label(kernel, item.k)}, operands in place{_often(item)}"
            yield f"line {line}: contraction with {rows} x {vectors} sums, {along}"
            yield from _ways(item)
            continue
        lane = "one column" if item.lane is None else _label(kernel, item.lane)
        a, b = (item.a_fill, item.a_shared, item.a_direct), (item.b_fill, item.b_shared, item.b_direct)
        read = " and ".join(_operand_read(fill, shared, direct=direct) for fill, shared, direct in (a, b))
        yield (
            f"line {line}: contraction with {rows} rows x {vectors} vectors x {lanes} lanes along {lane},"
            f" operands {read}{_in_blocks(item.blocking)}{_often(item)}{why}"
        )
        yield from _ways(item)
    yield from _kept(decisions, numbers)


def _kept(decisions: Decisions, numbers: Mapping[SSAValue, int]) -> Iterator[str]:
    """Where tiles are, those with the same reason in one line."""
    found: dict[str, list[str]] = {}
    for value, number in numbers.items():
        place = decisions.places.get(number)
        if place is not None and is_tile(value) and _stands(value):
            kept = "inline" if place.inline else f"buffer {place.storage}"
            prices = f" ({place.prices})" if place.prices is not None else ""
            found.setdefault(f"{kept}: {place.reason}{prices}", []).append(f"%{number} (line {span_of(value).line})")
    for what, tiles in found.items():
        yield f"{', '.join(tiles)}: {what}"


def _in_blocks(blocking: tuple[int, int, int]) -> str:
    k, rows, packed = blocking
    along_k = f", {k} of k at a time, between which sums wait where they end" if k else ""
    of_rows = f", {rows} rows at a time" if rows else ""
    return f"{along_k}{of_rows}{('', ', panels of B', ', panels of A and of B')[packed]}"


def _ways(item: ContractPlan) -> Iterator[str]:
    """What its way was weighed against."""
    yield from (f"  {each}" for each in (item.search.lines() if item.search is not None else ()))


def _often(item: ContractPlan) -> str:
    runs = 1 if item.product is None else item.product.runs
    return f", computed {runs} times by each worker" if runs > 1 else ""


def _operand_read(fill: Fill | str | None, shared: Shared | str | None, *, direct: bool) -> str:
    if isinstance(fill, Fill):
        read = str(fill)
    else:
        read = f"{'in place' if direct else 'copied'}{f' (not computed into panels: {fill})' if fill else ''}"
    if isinstance(shared, Shared):
        return f"{read}, {shared}" if isinstance(fill, Fill) else f"in panels {shared}"
    return read if shared is None else f"{read} (panels not shared: {shared})"


def _cached(nest: NestPlan) -> str:
    """How a store treats the caches. What fits them needs no word."""
    if nest.caching is None or nest.caching is Caching.SMALL:
        return ""
    prices = f" ({nest.store_prices})" if nest.store_prices is not None else ""
    return f", {'' if nest.streaming else 'through the caches because '}{nest.caching.value}{prices}"


def _weighed(kernel: Kernel, nest: NestPlan) -> str:
    """What lanes along the other dimensions would have taken."""
    prices = dict(nest.weighed)
    if nest.lane is None or nest.lane not in prices or len(prices) < 2:
        return ""
    others = (f"{price:.0f} along {_label(kernel, dim)}" for dim, price in prices.items() if dim != nest.lane)
    return f" ({prices[nest.lane]:.0f} vector operations; {', '.join(others)})"


def _reads(nest: NestPlan) -> str:
    """What rows share."""
    if nest.reads is None:
        return ""
    alone, together = nest.reads
    return f" ({together:.3g} instead of {alone} vectors loaded for one)"


def _turned(kernel: Kernel, nest: NestPlan) -> Iterator[str]:
    prices = f" ({nest.turn_prices})" if nest.turn_prices is not None else ""
    if nest.across is not None:
        tiles = ", ".join(f"%{read.value}" for read in nest.turned)
        yield f", in squares with {_label(kernel, nest.across)} that turn {tiles}{prices}"
    if nest.refused:
        yield f", gathers because {nest.refused.value}{prices}"


def _stands(value: SSAValue) -> bool:
    return not isinstance(value.owner, Operation) or is_anchored(value.owner)


def _label(kernel: Kernel, number: int) -> str:
    return kernel.label(DimAttr.of(number))
