"""The literal pass lists of XIR."""

from tilewright.xir.passes.addressing import ReassociateAddresses
from tilewright.xir.passes.cse import EliminateCommonSubexpressions
from tilewright.xir.passes.expand_contract import ExpandContract
from tilewright.xir.passes.expand_math import ExpandMath
from tilewright.xir.passes.hoist import HoistInvariants
from tilewright.xir.passes.runner import PassRecord, XirPass, run_pipeline

__all__ = ["CPU_PIPELINE", "PassRecord", "XirPass", "run_pipeline"]

CPU_PIPELINE: tuple[XirPass, ...] = (
    ExpandContract(),
    ExpandMath(),
    ReassociateAddresses(),  # after expand-contract, which writes addresses
    HoistInvariants(),  # after reassociation, which puts first what can leave
    EliminateCommonSubexpressions(),  # last: sibling loops may have hoisted the same value to one place
)
