"""The threads of NumPy's own BLAS, set so that a comparison is between equals."""

import ctypes
from pathlib import Path

import numpy as np

__all__ = ["set_blas_threads"]

_FOLDERS = ("numpy.libs", "numpy/.dylibs")
_PREFIXES = ("scipy_openblas", "openblas")
_SUFFIXES = ("64_", "")


def set_blas_threads(count: int) -> bool:
    """Makes the OpenBLAS of NumPy's wheel use `count` threads. False where NumPy came with another BLAS."""
    site = Path(np.__file__).resolve().parents[1]
    for library in [path for folder in _FOLDERS for path in sorted((site / folder).glob("*openblas*"))]:
        loaded = ctypes.CDLL(str(library))  # the one that NumPy has loaded already
        for name in [f"{prefix}_set_num_threads{suffix}" for prefix in _PREFIXES for suffix in _SUFFIXES]:
            if hasattr(loaded, name):
                getattr(loaded, name)(count)
                return True
    return False
