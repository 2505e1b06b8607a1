"""Where the operands of a product lie while it is computed, and in which blocks: one of a few ways.

A way is taken by what the caches hold. Each says in words why a product does not go it, so that a plan can tell why it
is the way it is, and what it is not.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tilewright.core.machine import Machine

__all__ = ["LONGEST_BLOCK", "ROWS", "ROW_BLOCK", "Blocks", "Matrices", "even_split", "way_of"]

LONGEST_BLOCK = 512  # of k
ROW_BLOCK = 192
_SKINNY = 64  # rows; a B beyond the caches then counts for more than the arithmetic
_STREAMED = 20  # rows up to which B is read once as it lies; with more of them panels pay
_STREAM_K_BLOCK = 16
_VECTOR_ROWS = 2  # rows up to which a few streams of long rows of B are best
_VECTOR_K_BLOCK = 8
_VECTOR_COLUMNS = 4  # vectors
ROWS = 8  # of a register tile of several vectors
_PANEL_COLUMNS = 256  # columns from which panels of three vectors leave little of the last one empty


@dataclass(frozen=True, slots=True)
class Blocks:
    """Length of a block of k (0: all), rows between two passes over B (0: all), how many operands lie in panels."""

    k: int
    rows: int
    packed: int

    def tile(self, tile: tuple[int, int, int], columns: int, machine: Machine) -> tuple[int, int, int]:
        """The register tile for these blocks: three vectors of panels, rows that vectors fill, few streams of B."""
        rows, vectors, lanes = tile
        if self.packed == 2:
            rows = min(rows, ROWS)
        if self.packed and columns >= _PANEL_COLUMNS and rows >= ROWS and machine.vector_registers >= 32:
            rows, vectors = ROWS, 3
        if self.k == _VECTOR_K_BLOCK:
            vectors = min(vectors, _VECTOR_COLUMNS)
        return rows, vectors, lanes


@dataclass(frozen=True, slots=True)
class Matrices:
    """What decides: extents, bytes of an element, the caches, and how the operands lie.

    `apart`: B's columns do not lie side by side, so that it needs panels. `no_panels`: why there can be none of B.
    `across`: A's rows lie side by side, and k goes from line to line.
    """

    rows: int
    columns: int
    depth: int
    itemsize: int
    second_cache: int
    apart: bool
    no_panels: str | None
    across: bool

    @property
    def size_of_a(self) -> int:
        return self.rows * self.depth * self.itemsize

    @property
    def size_of_b(self) -> int:
        return self.depth * self.columns * self.itemsize

    @property
    def long(self) -> int:
        """The longest even block of k that keeps panels in the caches."""
        return even_split(self.depth, LONGEST_BLOCK)


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to compute a product. `why`: what speaks for it. `why_not`: what speaks against it, None where nothing
    does.
    """

    name: str
    blocks: Callable[[Matrices], Blocks]
    why: Callable[[Matrices], str]
    why_not: Callable[[Matrices], str | None]


def way_of(matrices: Matrices) -> tuple[Blocks, tuple[str, ...]]:
    """The blocks of the first way that nothing speaks against, and why they are so: what speaks for it, and against
    those before it.
    """
    reasons = [way.why_not(matrices) for way in _WAYS]
    chosen = reasons.index(None)
    way = _WAYS[chosen]
    against = (f"not {other.name}: {reason}" for other, reason in zip(_WAYS[:chosen], reasons, strict=False))
    return way.blocks(matrices), (f"{way.name}: {way.why(matrices)}", *against)


def even_split(extent: int, limit: int) -> int:
    """The block length that cuts an extent into equal blocks of at most `limit`; 0 when one block does."""
    if extent <= limit:
        return 0
    blocks = -(-extent // limit)
    return -(-extent // blocks)


# ---- what speaks for and against


def _is_skinny(it: Matrices) -> bool:
    return it.rows <= _SKINNY and not it.apart


def _not_once(it: Matrices) -> str | None:
    if it.apart:
        return "columns of B lie apart"
    if it.rows > _SKINNY:
        return f"{it.rows} rows read every element of B"
    if it.size_of_b <= 2 * it.second_cache:
        return f"B ({_size(it.size_of_b)}) stays near"
    if it.rows > _STREAMED and it.no_panels is None:
        return f"{it.rows} rows are enough to pay for panels"
    return None


def _not_in_panels_of_few(it: Matrices) -> str | None:
    if not _is_skinny(it):
        return "B is read again for many rows"
    return it.no_panels or (None if it.size_of_b > 2 * it.second_cache else f"B ({_size(it.size_of_b)}) stays near")


def _not_both(it: Matrices) -> str | None:
    if _is_skinny(it):
        return f"{it.rows} rows read B too seldom"
    if it.size_of_a <= it.second_cache // 2:
        return f"A ({_size(it.size_of_a)}) stays near"
    return it.no_panels or (None if it.across else "k runs along the lines of A")


def _not_b(it: Matrices) -> str | None:
    if _is_skinny(it):
        return f"{it.rows} rows read B too seldom"
    if it.size_of_b <= it.second_cache:
        return f"B ({_size(it.size_of_b)}) fits the second cache ({_size(it.second_cache)})"
    return it.no_panels


def _blocks_of_b(it: Matrices) -> Blocks:
    near = it.rows * min(it.depth, LONGEST_BLOCK) * it.itemsize <= it.second_cache
    return Blocks(it.long, 0 if near else ROW_BLOCK, 1)


def _once(it: Matrices) -> Blocks:
    return Blocks(_VECTOR_K_BLOCK if it.rows <= _VECTOR_ROWS else _STREAM_K_BLOCK, 0, 0)


def _size(count: int) -> str:
    return f"{count / 1024:.0f} KiB" if count < 1 << 20 else f"{count / (1 << 20):.1f} MiB"


_WAYS: tuple[_Way, ...] = (
    _Way(
        "B once from memory, by a few lines at a time", _once,
        lambda it: f"it is {_size(it.size_of_b)}, and {it.rows} rows read it too seldom to pay for panels", _not_once,
    ),
    _Way(
        "B in panels, each made once", lambda it: Blocks(it.long, 0, 1),
        lambda it: f"it is {_size(it.size_of_b)}, and all {it.rows} rows use a panel while it is near",
        _not_in_panels_of_few,
    ),
    _Way(
        "both operands in panels", lambda it: Blocks(it.long, ROW_BLOCK, 2),
        lambda it: f"A is {_size(it.size_of_a)}, and k goes from line to line of it", _not_both,
    ),
    _Way(
        "B in panels", _blocks_of_b,
        lambda it: f"it is {_size(it.size_of_b)}, more than the second cache ({_size(it.second_cache)})", _not_b,
    ),
    _Way(
        "B as it lies", lambda it: Blocks(it.long, 0, 0), lambda it: f"it is {_size(it.size_of_b)} and stays near",
        lambda it: "columns of B lie apart" if it.apart else None,
    ),
    _Way(
        "B in panels since it lies across the lanes", lambda it: Blocks(it.long, 0, 1),
        lambda _: "a panel turns it once for all rows", lambda _: None,
    ),
)  # fmt: skip
