"""Runs small LLVM functions: `kernel(ptr out, ptr a, ptr b)` over arrays."""

import ctypes
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tilewright.backends.llvm.jit import compile_and_load
from tilewright.backends.llvm.text import Function, Module, Parameter
from tilewright.backends.llvm.types import PTR

Array = NDArray[np.generic]


def build(body: Callable[[Function], None]) -> str:
    """The text of a module whose only export `kernel` has this body."""
    module = Module()
    f = module.function("kernel", [Parameter(name, PTR) for name in ("out", "a", "b")])
    body(f)
    f.ret()
    return module.text()


def run(body: Callable[[Function], None], out: Array, a: Array | None = None, b: Array | None = None) -> None:
    library = compile_and_load(build(body), ["kernel"])
    kernel = ctypes.CFUNCTYPE(None, *(ctypes.c_void_p,) * 3)(library.address("kernel"))
    kernel(*(None if array is None else array.ctypes.data for array in (out, a, b)))
    library.close()
