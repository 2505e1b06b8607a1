"""The decisions of a plan, as frozen data that prints. Values and operations go by their numbers in `Structure`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from tilewright.bridge.xir.block_prices import Product
from tilewright.bridge.xir.blocking import Search, Way
from tilewright.bridge.xir.recompute import Weighed
from tilewright.core.dtypes import by_name
from tilewright.ir.layout_attr import LayoutAttr

__all__ = [
    "ContractPlan",
    "Decisions",
    "Fill",
    "LaneChoice",
    "LimitPlan",
    "NestPlan",
    "Place",
    "Shared",
    "Storage",
    "StorePrices",
    "TurnPrices",
    "TurnedRead",
    "Unturned",
    "stage_of",
]


@dataclass(frozen=True, slots=True)
class LaneChoice:
    """What is asked of nests: `program` lanes, or lanes along the dimensions in `fixed` where a nest can have them.

    `width` is the number of lanes, 0 for as many as fill a register.
    """

    program: bool
    width: int
    fixed: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Storage:
    """One scratch buffer: dimensions from outermost to innermost, with element strides.

    Under program lanes every element is a row of lanes. A `layout` of the user's stands in place of the strides.
    """

    owner: int
    dtype: str
    dims: tuple[int, ...]
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    size: int
    layout: LayoutAttr | None = None

    def stride_of(self, dim: int) -> int | None:
        """The element stride of a dimension, None when the buffer lacks it."""
        return self.strides[self.dims.index(dim)] if dim in self.dims else None


def stage_of(home: int) -> int:
    """The owner number of the buffer in which the next value of a carry waits. Values have numbers from 0."""
    return -1 - home


@dataclass(frozen=True, slots=True)
class Place:
    """Where one tile lives: `inline` is recomputed by its consumers, else the number of the buffer's owner.

    `prices` are those of both, where it was a choice.
    """

    storage: int | None
    reason: str
    prices: Weighed | None = None

    @property
    def inline(self) -> bool:
        return self.storage is None


class Unturned(Enum):
    """Why what lies across the lanes is gathered."""

    WIDTH = "so many lanes make no square that fits the registers"
    FOLD = "the tile holds a fold"
    LONG = "the rows of its squares would take too many operations"
    EMPTY = "squares would stay too empty"
    ASKED = "no squares are asked for"


class Caching(Enum):
    """Whether stores go past the caches, or why they go through them. It is not asked of other nests."""

    PAST = "past the caches"
    SMALL = "what is written fits the last cache"
    APART = "lanes do not lie side by side"
    SQUARES = "squares begin where lines need not"
    SHORT = "rows are no whole vectors, or few"
    GUARDED = "the store is masked or guarded"
    REPEATED = "the store is repeated"
    READ = "the view is read, too"
    ARITHMETIC = "the store waits for arithmetic"
    ASKED = "that is asked for"


@dataclass(frozen=True, slots=True)
class StorePrices:
    """What a vector of results takes through the caches, and past them, with what is computed and read for it, in
    nanoseconds.
    """

    through: float
    past: float

    def __str__(self) -> str:
        return f"{self.past:.3g} ns a vector past the caches, {self.through:.3g} through them"


@dataclass(frozen=True, slots=True)
class TurnedRead:
    """A tile that is loaded along the dimension across the lanes and turned: its number, and the dimension of the nest
    that each of its axes moves with (None: it stays at 0).
    """

    value: int
    dims: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class TurnPrices:
    """What a nest takes to read and to write, in squares and by gathers, in vector operations: an element that is
    gathered is one.
    """

    squares: float
    gathers: float

    def __str__(self) -> str:
        return f"{self.squares:.0f} operations in squares, {self.gathers:.0f} by gathers"


@dataclass(frozen=True, slots=True)
class NestPlan:
    """One loop nest: axes from outermost to innermost.

    `lane` is the vectorised dimension; `fold` says that lanes are folded, `caching` how a store treats the caches, and
    `store_prices` by what prices, where both could be. A fold along other dimensions is computed for `copies`
    neighbouring vectors at once, and so is a store: all are computed before any is written. A store does so for
    `rows` neighbours along the dimension before the lane's; `reads`: vectors that are loaded for one of results, of one
    row at a time and of so many. With an `across` the two innermost dimensions go in squares, and the tiles in `turned`
    are read along it. Without one, `refused` says why those in `turned` are gathered. `turn_prices` are those of both,
    where both could be. The lane's loop runs through the dimensions in `merged`, which stand before it, too. `weighed`:
    the vector operations that it would take along each dimension that may be the lane's.
    """

    what: str
    axes: tuple[int, ...]
    lane: int | None
    width: int
    fold: bool = False
    caching: Caching | None = None
    store_prices: StorePrices | None = None
    copies: int = 1
    rows: int = 1
    reads: tuple[int, float] | None = None
    across: int | None = None
    turned: tuple[TurnedRead, ...] = ()
    refused: Unturned | None = None
    turn_prices: TurnPrices | None = None
    merged: tuple[int, ...] = ()
    weighed: tuple[tuple[int, float], ...] = field(default=(), compare=False)

    @property
    def streaming(self) -> bool:
        """Whether stores go past the caches."""
        return self.caching is Caching.PAST


@dataclass(frozen=True, slots=True)
class Fill:
    """An operand of a product that is computed while its panels are packed; `turned`: in vectors along k, which squares
    turn; `lanes` of one vector of columns (of A: rows). `prices` are those of a buffer, or of reading it in place, and
    of this.
    """

    turned: bool
    lanes: int
    prices: Weighed

    def __str__(self) -> str:
        return f"computed into panels{', in squares that turn it' if self.turned else ''} ({self.prices})"


@dataclass(frozen=True, slots=True)
class Shared:
    """Panels of an operand that a first launch packs for all programs: positions of the root `axes` along which it
    differs, so many `parts` of it, each in `panels` of `width` columns (of A: rows) and `depth` steps of k. `dtype` of
    their elements.
    """

    axes: tuple[int, ...]
    parts: int
    panels: int
    width: int
    depth: int
    dtype: str

    @property
    def elements(self) -> int:
        """Of all panels."""
        return self.parts * self.panels * self.width * self.depth

    @property
    def bytes(self) -> int:
        return self.elements * by_name(self.dtype).itemsize

    def __str__(self) -> str:
        return f"packed once for all programs, {self.parts} x {self.panels} panels"


@dataclass(frozen=True, slots=True)
class ContractPlan:
    """One contraction. `a` supplies rows and `b` the lanes, swapped from the written order when `swapped`.

    It is computed where `sink` stands, together with everything up to the value numbered `value`, and goes straight
    into what the sink writes. `outer` dimensions become loops around it (batch, further rows, columns and contracted
    dimensions, in that order). `blocking`: length of a block of k, rows between two passes over B, how many
    operands are packed (1: B, 2: A too). `folds`: contracted dimensions around k, outermost first, over which the sums
    stay in registers. `a_fill`, `b_fill`: how operands are computed into panels, or why they are not; None where they
    are read as they lie. `a_shared`, `b_shared`: panels that all programs share, or why those of the operand are not;
    None where it has no panels. `product`: what tile and blocks are chosen by; `search`: how they were. `ahead`: lines
    of the result are asked for while its sums are computed. `along`: lanes along k, 0 where they run along `lane`; the
    tile has then rows, columns, and one lane; elsewhere `dots` is what that would take, or why it cannot be. `why`:
    reasons why lines are asked for.
    """

    swapped: bool
    row: int | None
    lane: int | None
    k: int
    outer: tuple[int, ...]
    a_direct: bool
    b_direct: bool
    tile: tuple[int, int, int]
    sink: int
    value: int
    blocking: tuple[int, int, int] = (0, 0, 0)
    from_zero: bool = False
    in_place: bool = False
    folds: tuple[int, ...] = ()
    product: Product | None = None
    search: Search | None = None
    a_fill: Fill | str | None = None
    b_fill: Fill | str | None = None
    a_shared: Shared | str | None = None
    b_shared: Shared | str | None = None
    ahead: bool = False
    along: int = 0
    dots: Way | str | None = None
    why: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LimitPlan:
    """A partial last block: along root axis `axis`, `blocks` blocks of `extent` elements of which only `size` in all
    are ever seen.

    Without a root axis there is one block.
    """

    axis: int | None
    blocks: int
    extent: int
    size: int

    @property
    def last(self) -> int:
        """Elements of the last block that are seen."""
        return self.size - (self.blocks - 1) * self.extent


@dataclass(frozen=True)
class Decisions:
    """Everything that lowering obeys, for one choice of lanes."""

    places: Mapping[int, Place] = field(default_factory=dict[int, Place])
    storages: Mapping[int, Storage] = field(default_factory=dict[int, Storage])
    nests: Mapping[int, NestPlan] = field(default_factory=dict[int, NestPlan])
    contracts: Mapping[int, ContractPlan] = field(default_factory=dict[int, ContractPlan])
    limits: Mapping[int, LimitPlan] = field(default_factory=dict[int, LimitPlan])
    fused: Mapping[int, int] = field(default_factory=dict[int, int])
    joined: Mapping[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    staged: frozenset[tuple[int, int]] = frozenset()
    disjoint: frozenset[tuple[int, int]] = frozenset()
    scratch_bytes: int = 0
