"""The bridge from TileIR to XIR: `plan()` decides, `lower()` obeys."""

from tilewright.bridge.xir.lower.kernel import Lowered, lower
from tilewright.bridge.xir.options import PROGRAM, CostModel, Element, Program, XirOptions, element
from tilewright.bridge.xir.plan import Candidate, Plan, Rejection, plan
from tilewright.bridge.xir.retile import assumed_disjoint, keeps_tiles, retile

__all__ = [
    "PROGRAM",
    "Candidate",
    "CostModel",
    "Element",
    "Lowered",
    "Plan",
    "Program",
    "Rejection",
    "XirOptions",
    "assumed_disjoint",
    "element",
    "keeps_tiles",
    "lower",
    "plan",
    "retile",
]
