"""TileIR to Apache TVM TIRx, behind the optional extra `tirx`.

`lower()` gives the module and its plan, `compile()` machine code that runs on host memory; neither needs a runtime or
a device. Their modules are imported when they are used, and TVM when they are called.
"""

from typing import TYPE_CHECKING

from tilewright.core.late import late_names

__all__ = [
    "Compiled", "CpuMathBackend", "CpuMatrixBackend", "Lowered", "Plan", "SharedSSA", "TirxOptions", "TirxPlanner",
    "compile", "lower",
]  # fmt: skip

if TYPE_CHECKING:
    from .compiled import Compiled, compile  # noqa: A004  the word of both bridges
    from .lowered import Lowered, Plan, lower
    from .options import TirxOptions, TirxPlanner
    from .providers.choices import CpuMathBackend, CpuMatrixBackend
    from .sharing import SharedSSA
else:
    _HOMES = ("options", "providers.choices", "sharing", "lowered", "compiled")
    __getattr__ = late_names(__name__, [f"{__name__}.{home}" for home in _HOMES])
