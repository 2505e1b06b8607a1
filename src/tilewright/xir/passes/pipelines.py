"""The literal pass lists of XIR."""

from tilewright.xir.passes.expand_contract import ExpandContract
from tilewright.xir.passes.expand_math import ExpandMath
from tilewright.xir.passes.runner import PassRecord, XirPass, run_pipeline

__all__ = ["CPU_PIPELINE", "PassRecord", "XirPass", "run_pipeline"]

CPU_PIPELINE: tuple[XirPass, ...] = (ExpandContract(), ExpandMath())
