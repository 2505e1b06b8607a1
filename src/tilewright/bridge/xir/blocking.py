"""Which blocks a product is computed in: every way of a small space is priced, and the cheapest legal one is taken.

The space: register tiles that suit the vector registers, blocks of k, blocks of rows, and which operands lie in panels.
What the caller fixed prunes it. Ways that cannot be are kept with the reason, those that lost with their price.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from tilewright.bridge.xir.block_prices import Blocks, Product, Terms, price
from tilewright.bridge.xir.dot_prices import DOT_TILES, dot_price
from tilewright.bridge.xir.options import Use, XirOptions
from tilewright.core.machine import Machine

__all__ = [
    "LONGEST_BLOCK",
    "Bounds",
    "Family",
    "Search",
    "Way",
    "bytes_shared",
    "cheapest",
    "cheapest_dots",
    "even_split",
    "has_panels",
    "price_of",
    "tiles_of",
    "ways_of",
    "why_not_shared",
]

LONGEST_BLOCK = 512  # of k, in a short split; a long one is twice as long
_ROW_BLOCK = 192
_FEW_LINES = (16, 8)  # of B at a time
_TILES = ((8, 2), (8, 3), (6, 4), (12, 2), (14, 1), (4, 6), (2, 8))  # rows and vectors, for 32 registers
_SMALL_TILES = ((6, 2), (4, 3), (8, 1), (14, 1), (2, 4))  # for 16
_BOUNDLESS = 1 << 62
_LEAST_ROWS = 6  # of a tile, where there are so many


class Family(Enum):
    """How a way treats the operands."""

    IN_PLACE = "B as it lies"
    FEW_LINES = "B a few lines at a time"
    ONE_BY_ONE = "panels of B, made one by one"
    AT_ONCE = "panels of B, all of a block of k at once"
    BOTH = "panels of both operands"
    SHARED = "panels that a launch before packs for all programs"
    ALONG_K = "lanes along k"


@dataclass(frozen=True, slots=True)
class Bounds:
    """What limits the ways of one product beside the caller: whether sums may wait where they end between blocks of k;
    whether they stay in registers over several axes; vectors of how many rows a computed A is packed by (0: it is not);
    how many bytes panels that programs share may take.
    """

    may_split: bool
    in_registers: bool = False
    a_lanes: int = 0
    shared_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Way:
    """One way to compute a product, and its price."""

    blocks: Blocks
    family: Family
    terms: Terms

    def __str__(self) -> str:
        blocks = self.blocks
        k = f", {blocks.k} of k at a time" if blocks.k else ""
        rows = f", {blocks.row_block} rows at a time" if blocks.row_block else ""
        shared = f" ({('B', 'A', 'A and B')[blocks.shared - 1]})" if blocks.shared else ""
        return f"{self.family.value}{shared}, {blocks.rows} x {blocks.vectors}{k}{rows}"

    def lost_to(self, other: "Way") -> str:
        """The price, and the terms in which it is the dearer one."""
        own, best = self.terms.parts(), other.terms.parts()
        worst = max(own, key=lambda name: own[name] - best[name])
        more = own[worst] - best[worst]
        return f"{self.terms.total:.0f} ns" + (f", {more:.0f} more for {worst}" if more > 0 else "")


@dataclass(frozen=True, slots=True)
class Search:
    """The way that is taken, the best of each other family, and how many ways cannot be, by reason. `count` of all."""

    chosen: Way
    others: tuple[Way, ...]
    rejected: tuple[tuple[str, int], ...]
    count: int

    def beside(self, dots: Way | str | None) -> "Search":
        """Together with what lanes along k would take, or why they cannot be."""
        if isinstance(dots, Way):
            others = sorted((*self.others, dots), key=lambda way: way.terms.total)
            return replace(self, others=tuple(others), count=self.count + 1)
        return self if dots is None else replace(self, rejected=(*self.rejected, (f"lanes along k: {dots}", 1)))

    def lines(self) -> Iterator[str]:
        """For a reader: the price, then what it was weighed against."""
        yield f"{self.chosen.terms}; the cheapest of {self.count} ways: {self.chosen}"
        for way in self.others:
            yield f"not {way}: {way.lost_to(self.chosen)}"
        for reason, count in self.rejected:
            yield f"{count} rejected: {reason}"


def cheapest(product: Product, machine: Machine, options: XirOptions, bounds: Bounds) -> Search:
    """The legal way with the least price, of equals the first.

    Where no panels fit the scratch, but there must be some, their size counts for nothing: a plan knows all buffers.
    Raises ValueError where the caller fixed what cannot be.
    """
    ways = list(ways_of(product, machine, options, bounds.shared_bytes))
    legal: list[Way] = []
    refused: dict[str, int] = {}
    for blocks in ways:
        reason = _why_not(product, blocks, options, bounds)
        if reason is None:
            legal.append(Way(blocks, _family(product, blocks), price(product, blocks, machine)))
        else:
            refused[reason] = refused.get(reason, 0) + 1
    if not legal and options.max_scratch_bytes < _BOUNDLESS:
        return cheapest(product, machine, replace(options, max_scratch_bytes=_BOUNDLESS), bounds)
    if not legal:
        raise ValueError(next(iter(refused)))
    if options.sharing is Use.WHEREVER_LEGAL:
        legal = _sharing_most(legal)
    ranked = sorted(legal, key=lambda way: way.terms.total)  # stable: of equals the first
    best = {way.family: way for way in reversed(ranked)}
    others = [way for way in ranked[1:] if way is best[way.family] and way.family is not ranked[0].family]
    return Search(ranked[0], tuple(others), tuple(refused.items()), len(ways))


def cheapest_dots(product: Product, machine: Machine) -> Way:
    """The cheapest way with lanes along k, of equals the first."""
    cut = {(min(rows, product.rows), min(columns, product.columns)): None for rows, columns in DOT_TILES}
    tiles = (Blocks(rows, columns, 0, 0, 0, along=True) for rows, columns in cut)
    ways = [Way(blocks, Family.ALONG_K, price_of(product, blocks, machine)) for blocks in tiles]
    return min(ways, key=lambda way: way.terms.total)


def price_of(product: Product, blocks: Blocks, machine: Machine) -> Terms:
    """The price of any way."""
    return (dot_price if blocks.along else price)(product, blocks, machine)


def _sharing_most(ways: list[Way]) -> list[Way]:
    """Of ways with as many operands in panels, those that share most of them."""
    most: dict[int, int] = {}
    for way in ways:
        most[way.blocks.packed] = max(most.get(way.blocks.packed, 0), way.blocks.shared.bit_count())
    return [way for way in ways if way.blocks.shared.bit_count() == most[way.blocks.packed]]


# ---- the space


def ways_of(product: Product, machine: Machine, options: XirOptions, shared_bytes: int = 0) -> Iterator[Blocks]:
    """Every way, in the order in which equals are preferred: what needs no panels first, long blocks before short,
    panels of each program before shared ones.
    """
    tiles = tiles_of(product, machine, options)
    for packed in range(3) if options.packing is None else (options.packing.value,):
        for k in _k_blocks(product, machine, options, packed):
            for row_block in _row_blocks(product, options, packed):
                for height, vectors in tiles:
                    blocks = Blocks(height, vectors, k, row_block, packed)
                    yield from (
                        replace(blocks, shared=each) for each in _sharings(product, blocks, options, shared_bytes)
                    )


def tiles_of(product: Product, machine: Machine, options: XirOptions) -> list[tuple[int, int]]:
    """Register tiles, cut to the product: sums, one row of B and a broadcast fit the registers."""
    if options.register_tile is not None:
        return [options.register_tile]
    registers, rows = machine.vector_registers, max(product.rows, 1)
    needed = max(-(-product.columns // product.lanes), 1)
    table = _TILES if registers >= 32 else _SMALL_TILES
    cut = {(min(height, rows), min(vectors, needed)): None for height, vectors in table}
    return [tile for tile in cut if tile[0] >= min(rows, _LEAST_ROWS)]


def _k_blocks(product: Product, machine: Machine, options: XirOptions, packed: int) -> list[int]:
    depth = product.depth
    if options.k_block:
        return [options.k_block if options.k_block < depth else 0]
    found = dict.fromkeys((0, even_split(depth, 2 * LONGEST_BLOCK), even_split(depth, LONGEST_BLOCK)))
    if not packed and depth * product.columns * product.itemsize > machine.l2_bytes:
        found.update(dict.fromkeys(lines for lines in _FEW_LINES if lines < depth))
    return list(found)


def _row_blocks(product: Product, options: XirOptions, packed: int) -> tuple[int, ...]:
    """Panels of A are those of a block of rows, where there are many."""
    if options.row_block:
        return (options.row_block,)
    if product.rows <= _ROW_BLOCK or not (packed or product.a_panels):
        return (0,)
    return (_ROW_BLOCK,) if packed == 2 or product.a_panels else (0, _ROW_BLOCK)


def _sharings(product: Product, blocks: Blocks, options: XirOptions, shared_bytes: int) -> Iterable[int]:
    """Which panels may be shared, none first; as many as possible where that is asked for."""
    if options.sharing is Use.NEVER or not (product.a_parts or product.b_parts):
        return (0,)
    most, left = 0, shared_bytes
    for bit, is_rows in ((2, True), (1, False)):
        if (
            has_panels(product, blocks, is_rows=is_rows)
            and why_not_shared(product, blocks, left, is_rows=is_rows) is None
        ):
            most, left = most | bit, left - bytes_shared(product, blocks, is_rows=is_rows)
    return (most,) if options.sharing is Use.WHEREVER_LEGAL else (bits for bits in range(4) if bits & most == bits)


def has_panels(product: Product, blocks: Blocks, *, is_rows: bool) -> bool:
    """Whether the operand with the rows, or that with the columns, lies in panels."""
    return (blocks.packed == 2 or product.a_panels) if is_rows else (blocks.packed > 0 or product.b_panels)


def why_not_shared(product: Product, blocks: Blocks, left: int, *, is_rows: bool) -> str | None:
    """Why programs cannot share such panels, of which so many bytes are left."""
    if not (product.a_parts if is_rows else product.b_parts):
        return "each program has its own"
    if is_rows and blocks.row_block % blocks.rows:
        return f"blocks of {blocks.row_block} rows cut panels of {blocks.rows}"
    size = bytes_shared(product, blocks, is_rows=is_rows)
    return None if size <= left else f"they take {size} bytes, and {left} are left of max_shared_bytes"


def bytes_shared(product: Product, blocks: Blocks, *, is_rows: bool) -> int:
    """Of all panels of an operand."""
    parts, extent = (product.a_parts, product.rows) if is_rows else (product.b_parts, product.columns)
    width = blocks.rows if is_rows else blocks.vectors * product.lanes
    return parts * -(-extent // width) * width * product.depth * product.itemsize


def even_split(extent: int, limit: int) -> int:
    """The block length that cuts an extent into equal blocks of at most `limit`; 0 when one block does."""
    if extent <= limit:
        return 0
    blocks = -(-extent // limit)
    return -(-extent // blocks)


def _family(product: Product, blocks: Blocks) -> Family:
    if blocks.shared:
        return Family.SHARED
    if blocks.packed == 2:
        return Family.BOTH
    if blocks.packed:
        return Family.AT_ONCE if 0 < blocks.row_block < product.rows else Family.ONE_BY_ONE
    return Family.FEW_LINES if 0 < blocks.k <= max(_FEW_LINES) else Family.IN_PLACE


# ---- what cannot be


def _why_not(product: Product, blocks: Blocks, options: XirOptions, bounds: Bounds) -> str | None:
    if bounds.in_registers and (blocks.k or blocks.packed):
        return "blocks and panels: sums stay in registers over all axes, since both operands are near"
    if blocks.k and not bounds.may_split:
        return "k in blocks: what follows the product reads where its sums would wait"
    if product.b_panels and not blocks.packed:
        return "B as it lies: it is computed while its panels are packed"
    if bounds.a_lanes and blocks.rows & -blocks.rows != bounds.a_lanes and options.register_tile is None:
        return f"A is computed into panels by vectors of {bounds.a_lanes} rows"
    size = _bytes_of_panels(product, blocks)
    if size > options.max_scratch_bytes:
        return f"panels of more than max_scratch_bytes = {options.max_scratch_bytes}"
    return None


def _bytes_of_panels(product: Product, blocks: Blocks) -> int:
    k = blocks.k or product.depth
    rows = blocks.row_block if 0 < blocks.row_block < product.rows else 0
    width = blocks.vectors * product.lanes
    b = (-(-product.columns // width) if rows else 2) * width if blocks.packed and not blocks.shares_b else 0
    a = (rows or product.rows) if (blocks.packed == 2 or product.a_panels) and not blocks.shares_a else 0
    return (a + b) * k * product.itemsize
