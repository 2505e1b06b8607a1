"""The literal pass lists of XIR."""

from tilewright.xir.passes.addressing import ReassociateAddresses
from tilewright.xir.passes.cse import EliminateCommonSubexpressions
from tilewright.xir.passes.expand_contract import ExpandContract
from tilewright.xir.passes.expand_math import FAST, ExpandMath
from tilewright.xir.passes.hoist import HoistInvariants
from tilewright.xir.passes.interleave import Interleave
from tilewright.xir.passes.runner import PassRecord, XirPass, run_pipeline
from tilewright.xir.passes.share_functions import ShareFunctions

__all__ = ["CPU_PIPELINE", "FAST_MATH", "FAST_MATH_PIPELINE", "PassRecord", "XirPass", "run_pipeline"]

_CLEANING: tuple[XirPass, ...] = (
    ReassociateAddresses(),  # after expand-contract, which writes addresses
    HoistInvariants(),  # after reassociation, which puts first what can leave
    EliminateCommonSubexpressions(),  # after it: sibling loops may have hoisted the same value to one place
    Interleave(),  # last: it only moves what is left
)
FAST_MATH = ExpandMath("expand-math-fast", FAST)
_PRODUCTS: tuple[XirPass, ...] = (
    ExpandContract(),  # after functions are expanded, since it copies bodies for each vector
    ShareFunctions(),  # after it, which writes functions; before all that goes through each of them
)
CPU_PIPELINE: tuple[XirPass, ...] = (ExpandMath(), *_PRODUCTS, *_CLEANING)
FAST_MATH_PIPELINE: tuple[XirPass, ...] = (FAST_MATH, *_PRODUCTS, *_CLEANING)
