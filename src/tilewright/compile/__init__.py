"""From captured kernels to shaders, and from decorated functions to calls on arrays."""

from .compilation import compile  # noqa: A004  the user's word
from .kernel import TileKernel, kernel
from .options import OptionFields

__all__ = ["OptionFields", "TileKernel", "compile", "kernel"]
