"""Which outside code may be called, and what its numbers mean. A device registers the functions; nobody else calls."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

__all__ = [
    "ARRAY_MATH", "CBLAS_MATMUL", "FOLDS", "NUMBERS", "VECTOR", "ArrayMath", "CpuMathBackend", "CpuMatrixBackend",
    "functions_of",
]  # fmt: skip

CBLAS_MATMUL = "tvm.contrib.cblas.matmul"
"""The name under which TVM knows such a function: (A, B, C, A is turned, B is turned)."""


class CpuMatrixBackend(Enum):
    """Who multiplies matrices."""

    REFERENCE = "reference"
    """The loops of the kernel."""
    CBLAS = "cblas"
    """One call for a kernel that is wholly C = A B in float32; any other kernel is refused."""


class CpuMathBackend(Enum):
    """Who computes what is the same for a whole array. What is not proved to be such a thing stays as it is."""

    REFERENCE = "reference"
    """The loops of the kernel and the C library."""
    ACCELERATE = "accelerate"
    """vForce and vDSP, on macOS."""
    VECTOR = "vector"
    """Tilewright's own functions: exp of shared tiles; sums, maxima and minima of rows. Everywhere."""


@dataclass(frozen=True, slots=True)
class ArrayMath:
    """Functions `(input, output, count)` on float32, each under the name that it is registered by."""

    exp: str
    folds: Mapping[str, str]


def _named(owner: str) -> ArrayMath:
    return ArrayMath(
        f"tilewright.{owner}.exp", MappingProxyType({kind: f"tilewright.{owner}.{kind}" for kind in _KINDS})
    )


_KINDS = ("add", "max", "min")
VECTOR, _ACCELERATE = _named("vector"), _named("accelerate")
ARRAY_MATH: Mapping[CpuMathBackend, ArrayMath] = MappingProxyType(
    {CpuMathBackend.VECTOR: VECTOR, CpuMathBackend.ACCELERATE: _ACCELERATE}
)


def functions_of(matrix: CpuMatrixBackend, math: CpuMathBackend) -> frozenset[str]:
    """The functions that code may call with these choices."""
    named = ARRAY_MATH.get(math)
    arrays = () if named is None else (named.exp, *named.folds.values())
    return frozenset((*arrays, *((CBLAS_MATMUL,) if matrix is CpuMatrixBackend.CBLAS else ())))


FOLDS = frozenset(name for each in ARRAY_MATH.values() for name in each.folds.values())
"""Functions that are over sooner than a launch on other threads."""
_EXACT = "the same number, a NaN if there is one"
NUMBERS: Mapping[str, str] = MappingProxyType(
    {
        CBLAS_MATMUL: "summed in another order, with fused multiply-adds",
        VECTOR.exp: "within 1 ulp",
        VECTOR.folds["add"]: "summed in another order",
        VECTOR.folds["max"]: _EXACT,
        VECTOR.folds["min"]: _EXACT,
        _ACCELERATE.exp: "as vForce documents; denormals and exceptions may differ",
        **dict.fromkeys(_ACCELERATE.folds.values(), "in another order"),
    }
)
"""The numerical contract of each function."""
