"""What a user may fix about the CPU plan. Anything left open is searched or follows from a rule; anything fixed holds
exactly or is refused.
"""

from dataclasses import asdict, dataclass
from enum import Enum
from math import isfinite

from tilewright.core.codes.unsupported import BAD_PLAN_OPTION
from tilewright.core.errors import PlanError
from tilewright.core.source import user_span

__all__ = ["CostModel", "Element", "PROGRAM", "Packing", "Program", "RETILING", "Use", "XirOptions", "element"]


@dataclass(frozen=True, slots=True)
class Program:
    """Vector lanes are neighbouring programs of the root parallel."""

    def __str__(self) -> str:
        return "program"


@dataclass(frozen=True, slots=True)
class Element:
    """Vector lanes run along a tile axis: the named one where a loop nest has it, else the cheapest."""

    axis: str = ""

    def __str__(self) -> str:
        return f"element({self.axis})" if self.axis else "element"


PROGRAM = Program()
RETILING = (
    "guard-iterations", "dissolve-loops", "coalesce-axes", "clip-axes", "unify-axes", "strip-axis", "peel-blocks",
    "split-loops",
)  # fmt: skip
"""The passes of retiling that may be left out."""
_WIDEST = 64
_LARGEST = 1 << 20
_ROWS, _VECTORS = 32, 16  # the largest register tile


class Packing(Enum):
    """How a product reads its operands: none in panels, or the one with the lanes, or both.

    What is not in panels is read from its view, or from the buffer of its tile where `explain()` says why it has one.
    """

    IN_PLACE = 0
    ONE = 1
    BOTH = 2


class Use(Enum):
    """Whether something is done."""

    NEVER = "never"
    WHEREVER_LEGAL = "wherever legal"


def element(axis: str = "") -> Element:
    """Lanes along the tile axis with this label; without a label every loop nest takes its cheapest axis."""
    return Element(axis)


@dataclass(frozen=True, slots=True)
class CostModel:
    """The basis of costs that the specification has, instead of the machine's figures: relative and uncalibrated.

    Of one vector operation, of one memory access by kind, of starting one block.
    """

    arithmetic: float = 1.0
    broadcast_load: float = 1.0
    contiguous: float = 2.0
    gathered_lane: float = 2.0
    block_dispatch: float = 128.0


@dataclass(frozen=True, slots=True)
class XirOptions:
    """Constraints on the plan of the native CPU route. What has its default is left to the plan.

    A constraint speaks about the constructs that it names; a kernel without any of them is not affected. Where one
    cannot hold for a construct that there is, planning raises PlanError (TW427) with the reason.

    `lanes` and `root_axis_order` (axis labels, outermost first, all of them) are searched when empty. `block_size` is
    the exact number of programs a task runs, 0 to search. `max_candidates` bounds the search, and that of each product,
    which are never truncated: a larger space is an error. `fold_partials` (1..16) is how many accumulators a regrouped
    fold uses.
    `max_scratch_bytes` bounds the scratch of one worker, `max_shared_bytes` the panels that all programs share;
    `max_operations` the emitted operations of a module.

    Tiles: `retile` lets the plan cut the work into tiles of its own where that is proved equal; a constraint on lanes
    of programs, order or block size keeps the kernel's tiles anyway. `without` names passes of it that are left out,
    of `RETILING`.

    Products: `packing` says how operands are read. `k_block` is how long a block of the contracted axis is, and
    `row_block` how many rows go between two passes over the operand with the lanes (both 0 for the cheapest; what is no
    longer than a block is one). `register_tile` is rows (1..32) and vectors (1..16), which must fit the vector
    registers. All four need lanes along tile axes. `sharing` has panels of an operand packed once by a launch of its
    own, for all programs that read them; None: where that is the cheapest way.

    Loops: `squares` turns what lies across the lanes in registers, `streaming` stores past the caches, `joining` has
    neighbouring stores share a loop, `fusion` computes tiles in the fold that reads them first, and operands of
    products while their panels are packed. None is the plan's rule, which for the last two is wherever legal, and for
    operands what costs less; `explain()` says where it was not.

    Buffers: `recompute` says whether tiles that each of their readers could compute again are, or have a buffer; None:
    whichever the machine's figures say is cheaper.

    Vectors: `abreast` has stores compute several neighbouring vectors, and those of two rows that share what they read,
    before they write any; None: where no function or division takes longer than loads.

    `cost` weighs candidates: by the machine's figures, or by a `CostModel`.
    """

    lanes: Program | Element | None = None
    lane_width: int = 0
    root_axis_order: tuple[str, ...] = ()
    block_size: int = 0
    max_candidates: int = 1024
    fold_partials: int = 4
    retile: bool = True
    without: tuple[str, ...] = ()
    packing: Packing | None = None
    k_block: int = 0
    row_block: int = 0
    register_tile: tuple[int, int] | None = None
    sharing: Use | None = None
    squares: Use | None = None
    streaming: Use | None = None
    joining: Use | None = None
    fusion: Use | None = None
    recompute: Use | None = None
    abreast: Use | None = None
    max_scratch_bytes: int = 16 << 20
    max_shared_bytes: int = 128 << 20
    max_operations: int = 10_000
    cost: CostModel | None = None

    def __post_init__(self) -> None:
        _require("block_size", self.block_size, "0 (search) to 1048576", holds=0 <= self.block_size <= _LARGEST)
        _require("max_candidates", self.max_candidates, "at least 1", holds=self.max_candidates >= 1)
        _require("fold_partials", self.fold_partials, "1 to 16", holds=1 <= self.fold_partials <= 16)
        _require("max_scratch_bytes", self.max_scratch_bytes, "at least 0", holds=self.max_scratch_bytes >= 0)
        _require("max_shared_bytes", self.max_shared_bytes, "at least 0", holds=self.max_shared_bytes >= 0)
        _require("max_operations", self.max_operations, "at least 1", holds=self.max_operations >= 1)
        width = self.lane_width
        power = width & (width - 1) == 0 and 0 <= width <= _WIDEST
        _require("lane_width", width, f"a power of two up to {_WIDEST}, or 0", holds=power)
        for name, cost in asdict(self.cost).items() if self.cost is not None else ():
            _require(f"cost.{name}", cost, "finite and not negative", holds=isfinite(cost) and cost >= 0)
        _require("without", self.without, f"some of {RETILING}", holds=set(self.without) <= set(RETILING))
        for name in ("k_block", "row_block"):
            size = getattr(self, name)
            _require(name, size, "0 (the rule) to 1048576", holds=0 <= size <= _LARGEST)
        rows, vectors = self.register_tile or (1, 1)
        fits = 1 <= rows <= _ROWS and 1 <= vectors <= _VECTORS
        _require("register_tile", self.register_tile, "rows (1 to 32) and vectors (1 to 16), or None", holds=fits)
        named = {
            "packing": Packing,
            **dict.fromkeys(("sharing", "squares", "streaming", "joining", "fusion", "recompute", "abreast"), Use),
        }
        for name, kind in named.items():
            choice = getattr(self, name)
            _require(name, choice, f"a {kind.__name__} or None", holds=choice is None or isinstance(choice, kind))


def _require(option: str, value: object, allowed: str, *, holds: bool) -> None:
    if not holds:
        raise PlanError(BAD_PLAN_OPTION.at(user_span(), option=option, value=value, allowed=allowed))
