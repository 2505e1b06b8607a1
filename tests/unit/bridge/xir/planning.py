"""What tests of plans share: short ways to plan, and to ask a plan what it decided."""

from dataclasses import replace

from tilewright.analysis.structure import structure_of
from tilewright.bridge.xir.options import XirOptions
from tilewright.bridge.xir.plan import Plan, plan
from tilewright.bridge.xir.records import ContractPlan, Place
from tilewright.core.machine import GENERIC_AVX2, GENERIC_AVX512, Timings
from tilewright.ir.kernel import Kernel
from tilewright.ir.location import span_of
from tilewright.ir.ops.regions import CarryingOp
from tilewright.ir.ops.tiles import MmaOp
from tilewright.ir.types import DimAttr, is_tile

__all__ = ["WIDE", "contracts_of", "label_of", "places_of", "planned", "staged_of"]

FIGURES = Timings(0.25, 1.6, 3.2, (0.32, 0.5, 0.63, 2.5), 0.32, latency=1.2, broadcast=0.16, apart=2.0)
WIDE = replace(GENERIC_AVX512, timings=FIGURES)
"""A machine whose products were measured: Zen 4."""


def planned(kernel: Kernel, options: XirOptions | None = None, *, may_alias: bool = False) -> Plan:
    """A plan for 4 threads of one particular machine."""
    return plan(kernel, GENERIC_AVX2, options, threads=4, may_alias=may_alias)


def places_of(kernel: Kernel, made: Plan) -> dict[int, list[Place]]:
    """The places of tiles, by the line (in the kernel's function, from its `def`) that makes them."""
    structure = structure_of(kernel.op)
    first = span_of(kernel.op).line
    found: dict[int, list[Place]] = {}
    for value, number in structure.numbers.items():
        if is_tile(value) and number in made.decisions.places:
            found.setdefault(span_of(value).line - first, []).append(made.decisions.places[number])
    return found


def staged_of(kernel: Kernel, made: Plan) -> list[int]:
    """The carries, by position in their only loop, that wait in a buffer of their own until all yields are computed."""
    structure = structure_of(kernel.op)
    (loop,) = (op for op in structure.position if isinstance(op, CarryingOp))
    return sorted(index for position, index in made.decisions.staged if position == structure.position[loop])


def contracts_of(kernel: Kernel, made: Plan) -> list[ContractPlan]:
    """The plans of all contractions, in written order."""
    structure = structure_of(kernel.op)
    products = [op for op in structure.position if isinstance(op, MmaOp)]
    return [made.decisions.contracts[structure.position[op]] for op in products]


def label_of(kernel: Kernel, dim: int | None) -> str | None:
    """What the user called a dimension."""
    return None if dim is None else kernel.label(DimAttr.of(dim))
