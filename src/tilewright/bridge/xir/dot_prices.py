"""What a product takes with lanes along k, in the terms and by the figures of its other ways.

Vectors of A meet those of B, and a sum is a vector until k ends. No element is turned for it, but each sum is folded.
"""

from math import ceil, log2

from tilewright.bridge.xir.block_prices import AGAIN, KIND, WAITED, Blocks, Product, Terms, beneath
from tilewright.core.machine import Level, Machine
from tilewright.xir.passes.dots import parts_of

__all__ = ["DOT_TILES", "dot_price"]

DOT_TILES = ((8, 1), (6, 2), (5, 3), (4, 4))
"""Rows and columns of sums at once."""

# What no figure of a machine says, measured on Zen 4 cores:
_FOLD = 10  # multiply-adds until one sum is folded, started and stored
_TURN = 0.4  # multiply-adds an element that is turned into a buffer


def dot_price(product: Product, blocks: Blocks, machine: Machine) -> Terms:
    """The terms in such tiles; nothing where there is nothing to multiply. *copies*: a buffer in which k is innermost,
    where B does not lie so.
    """
    p, times = product, machine.timings
    if p.is_nothing:
        return Terms(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    steps = ceil(p.depth / p.lanes)
    heights, widths = _cuts(p.rows, blocks.rows), _cuts(p.columns, blocks.vectors)
    arithmetic = steps * sum(
        above * beside * _step(rows, columns, p, machine) for rows, above in heights for columns, beside in widths
    )
    row_tiles, column_tiles = (sum(count for _, count in cuts) for cuts in (heights, widths))
    waits = row_tiles * column_tiles * log2(p.lanes) * 2 * times.latency  # a move and a sum, one after the other
    folds = max(p.rows * p.columns * _FOLD * times.arithmetic, waits)
    code = len(heights) * len(widths) * KIND * times.arithmetic / p.runs
    far, vectors = machine.level_of(p.size), p.rows * steps
    first = times.levels[far]
    if far == Level.MEMORY:
        first -= beneath(first, arithmetic / vectors, 0)  # rows are fetched ahead, however many at a time
    near = machine.level_of(blocks.rows * p.depth * p.itemsize)
    a = vectors * (first + (column_tiles - 1) * WAITED[near] * times.levels[near])
    near = machine.level_of(p.columns * p.depth * p.itemsize)
    b = p.columns * steps * (times.levels[far] + (row_tiles - 1) * AGAIN[near] * times.levels[near])
    copies = p.columns * p.depth * _TURN * times.arithmetic if p.b.across else 0.0
    return Terms(arithmetic, folds, code, 0.0, copies, a, b, 0.0)


def _cuts(extent: int, size: int) -> list[tuple[int, int]]:
    """Lengths of tiles along an axis, and how many have each."""
    full, rest = divmod(extent, size)
    return [(length, count) for length, count in ((size, full), (rest, 1)) if length and count]


def _step(rows: int, columns: int, product: Product, machine: Machine) -> float:
    """A vector of k: multiply-adds, or loads where they take longer, or the wait for sums."""
    times = machine.timings
    parts = parts_of(rows, columns, product.lanes, product.depth)
    loads = (rows + columns) * times.levels[Level.L1]
    return max(rows * columns * times.arithmetic, loads, times.latency / parts)
