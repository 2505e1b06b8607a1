"""TileIR to Apache TVM TIRx, behind the optional extra `tirx`.

`lower()` gives the module and its plan, `compile()` machine code that runs on host memory; neither needs a runtime or
a device. TVM is imported when one of them is called.
"""

from .compiled import Compiled, compile
from .lowered import Lowered, Plan, lower
from .options import TirxOptions
from .sharing import SharedSSA

__all__ = ["Compiled", "Lowered", "Plan", "SharedSSA", "TirxOptions", "compile", "lower"]
