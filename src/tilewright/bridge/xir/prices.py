"""What single steps of a plan cost, by one of two bases: the figures of the machine, or the specification's relative
terms.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from xdsl.ir import Operation

from tilewright.bridge.xir.options import CostModel
from tilewright.core.machine import Level, Machine, Timings
from tilewright.ir.ops import elementwise

__all__ = [
    "EXPENSIVE",
    "Basis",
    "Prices",
    "exponentials",
    "is_function",
    "machine_prices",
    "operation_price",
    "specification_prices",
]

DIVISIONS: tuple[type[Operation], ...] = (elementwise.DivOp, elementwise.SqrtOp, elementwise.RsqrtOp)
EXPENSIVE: tuple[type[Operation], ...] = (
    *DIVISIONS,
    elementwise.ExpOp,
    elementwise.Exp2Op,
    elementwise.LogOp,
    elementwise.Log2Op,
    elementwise.SinOp,
    elementwise.CosOp,
    elementwise.TanhOp,
    elementwise.ErfOp,
    elementwise.SigmoidOp,
    elementwise.PowOp,
    elementwise.FloorDivOp,
    elementwise.FloorModOp,
    elementwise.TruncDivOp,
    elementwise.TruncModOp,
)

_EXPONENTIALS: Mapping[type[Operation], float] = MappingProxyType(
    {
        elementwise.SigmoidOp: 1.25,
        elementwise.LogOp: 2.0,
        elementwise.Log2Op: 2.0,
        elementwise.TanhOp: 2.0,
        elementwise.ErfOp: 2.5,
        elementwise.SinOp: 4.0,
        elementwise.CosOp: 4.0,
        elementwise.PowOp: 12.0,
    }
)
"""How many exponentials a function takes, measured on Zen 4 cores; those that are not here take one."""


class Basis(Enum):
    """Where prices come from."""

    MACHINE = "nanoseconds, by the figures of the machine"
    SPECIFICATION = "relative, by the specification's terms"

    @property
    def nanoseconds(self) -> float:
        """Of one unit. A relative one, measured on Zen 4 cores with the default coefficients: products, sums, copies
        0.2 to 0.3, exponentials 0.6.
        """
        return 1.0 if self is Basis.MACHINE else 0.3


@dataclass(frozen=True, slots=True)
class Prices:
    """What one vector operation of each kind costs, where data lie at one level.

    The specification knows no levels, no functions, and takes the element of a tile that a program reads for a register
    (`extract`).
    """

    basis: Basis
    arithmetic: float
    broadcast: float
    contiguous: float
    gathered_lane: float
    dispatch: float
    extract: float = 0.0
    timings: Timings | None = None

    def of(self, op: Operation) -> float:
        """One vector of an elementwise operation; other operations compute nothing themselves."""
        if self.timings is not None:
            return operation_price(op, self.timings)
        return self.arithmetic if isinstance(op, elementwise.ElementwiseOp) else 0.0

    def access(self, stride: int | None, width: int) -> float:
        """A vector by its stride along the lanes, None where that is not constant."""
        if stride == 0:
            return self.broadcast
        return self.contiguous if stride == 1 else self.gathered_lane * width


def operation_price(op: Operation, times: Timings) -> float:
    """Nanoseconds of one vector of an operation; those that are not elementwise compute nothing themselves."""
    if isinstance(op, DIVISIONS):
        return times.division
    if isinstance(op, EXPENSIVE):
        return times.expensive * exponentials(op)
    return times.arithmetic if isinstance(op, elementwise.ElementwiseOp) else 0.0


def exponentials(op: Operation) -> float:
    """How many exponentials a function takes."""
    return _EXPONENTIALS.get(type(op), 1.0)


def is_function(op: Operation) -> bool:
    """Whether it takes as long as an exponential; divisions and roots do not."""
    return isinstance(op, EXPENSIVE) and not isinstance(op, DIVISIONS)


def machine_prices(machine: Machine, level: Level) -> Prices:
    """Nanoseconds for data at this level."""
    times = machine.timings
    contiguous = times.levels[level]
    farther = contiguous - times.levels[Level.L1]
    return Prices(
        Basis.MACHINE,
        times.arithmetic,
        times.levels[Level.L1] / 2,
        contiguous,
        times.gathered_lane + farther,
        times.task,
        contiguous,
        times,
    )


def specification_prices(model: CostModel) -> Prices:
    """The relative costs of a model."""
    return Prices(
        Basis.SPECIFICATION,
        model.arithmetic,
        model.broadcast_load,
        model.contiguous,
        model.gathered_lane,
        model.block_dispatch,
    )
