"""What a user may fix about the CPU plan. Anything left open is searched; anything fixed holds exactly or is
refused.
"""

from dataclasses import asdict, dataclass
from math import isfinite
from typing import Literal, get_args

from tilewright.core.codes.unsupported import BAD_PLAN_OPTION
from tilewright.core.errors import PlanError
from tilewright.core.source import user_span

__all__ = ["CostModel", "Element", "PROGRAM", "Program", "Recompute", "XirOptions", "element"]

Recompute = Literal["always", "never"]


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
_WIDEST = 64


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
    """Constraints on the plan of the native CPU route.

    `lanes` and `root_axis_order` (axis labels, outermost first, all of them) are searched when empty. `block_size` is
    the exact number of programs a task runs, 0 to search. `max_candidates` bounds the search, which is never
    truncated: a larger space is an error. `fold_partials` (1..16) is how many accumulators a regrouped fold uses.
    `max_scratch_bytes` bounds the scratch of one worker; `max_operations` the emitted operations of a module. `retile`
    lets the plan cut the work into tiles of its own where that is proved equal; a constraint on lanes of programs,
    order or block size keeps the kernel's tiles anyway. `recompute` says where tiles go that could be computed again by
    each of their readers: "always" there, "never" (in a buffer), or wherever the machine's figures say it is cheaper.
    `cost` weighs candidates: by the machine's figures, or by a `CostModel`.
    """

    lanes: Program | Element | None = None
    lane_width: int = 0
    root_axis_order: tuple[str, ...] = ()
    block_size: int = 0
    max_candidates: int = 1024
    fold_partials: int = 4
    retile: bool = True
    max_scratch_bytes: int = 16 << 20
    max_operations: int = 10_000
    recompute: Recompute | None = None
    cost: CostModel | None = None

    def __post_init__(self) -> None:
        _require("block_size", self.block_size, "0 (search) to 1048576", holds=0 <= self.block_size <= 1 << 20)
        _require("max_candidates", self.max_candidates, "at least 1", holds=self.max_candidates >= 1)
        _require("fold_partials", self.fold_partials, "1 to 16", holds=1 <= self.fold_partials <= 16)
        _require("max_scratch_bytes", self.max_scratch_bytes, "at least 0", holds=self.max_scratch_bytes >= 0)
        _require("max_operations", self.max_operations, "at least 1", holds=self.max_operations >= 1)
        width = self.lane_width
        power = width & (width - 1) == 0 and 0 <= width <= _WIDEST
        _require("lane_width", width, f"a power of two up to {_WIDEST}, or 0", holds=power)
        known = self.recompute is None or self.recompute in get_args(Recompute)
        _require("recompute", self.recompute, "always, never, or None to search", holds=known)
        for name, cost in asdict(self.cost).items() if self.cost is not None else ():
            _require(f"cost.{name}", cost, "finite and not negative", holds=isfinite(cost) and cost >= 0)


def _require(option: str, value: object, allowed: str, *, holds: bool) -> None:
    if not holds:
        raise PlanError(BAD_PLAN_OPTION.at(user_span(), option=option, value=value, allowed=allowed))
