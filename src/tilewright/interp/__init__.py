"""The meaning of TileIR on NumPy: `run(kernel, arrays)`. Every other route is compared with it."""

from .machine import Checks
from .run import run

__all__ = ["Checks", "run"]
