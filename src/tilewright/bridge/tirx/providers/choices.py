"""Which outside code may be called, and what its numbers mean. A device registers the functions; nobody else calls."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

__all__ = [
    "ARRAY_MATH", "CBLAS_MATMUL", "C_FUNCTIONS", "FOLDS", "NUMBERS", "VECTOR", "ArrayMath", "Convention",
    "CpuMathBackend", "CpuMatrixBackend", "functions_of",
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


class Convention(Enum):
    """How a function of a whole array takes its arguments; see `calls.py`."""

    REGISTERED = "TVM's registry"
    VFORCE = "vForce"
    VDSP = "vDSP"


@dataclass(frozen=True, slots=True)
class ArrayMath:
    """Functions of input, output and count on float32, by the name or symbol under which code finds them."""

    exp: str
    folds: Mapping[str, str]
    maps_by: Convention = Convention.REGISTERED
    folds_by: Convention = Convention.REGISTERED


VECTOR = ArrayMath(
    "tilewright.vector.exp", MappingProxyType({kind: f"tilewright.vector.{kind}" for kind in ("add", "max", "min")})
)
_ACCELERATE = ArrayMath(
    "vvexpf",
    MappingProxyType({"add": "vDSP_sve", "max": "vDSP_maxv", "min": "vDSP_minv"}),
    Convention.VFORCE,
    Convention.VDSP,
)
ARRAY_MATH: Mapping[CpuMathBackend, ArrayMath] = MappingProxyType(
    {CpuMathBackend.VECTOR: VECTOR, CpuMathBackend.ACCELERATE: _ACCELERATE}
)
FOLDS = frozenset(name for each in ARRAY_MATH.values() for name in each.folds.values())
"""Functions that are over sooner than a launch on other threads."""
C_FUNCTIONS = frozenset({_ACCELERATE.exp, *_ACCELERATE.folds.values()})
"""Those that are symbols of the process; the others are names of TVM's registry."""
_EXACT = "the same number, a NaN if there is one"
_VDSP = "as vDSP computes it; a NaN may be lost"
NUMBERS: Mapping[str, str] = MappingProxyType(
    {
        CBLAS_MATMUL: "summed in another order, with fused multiply-adds",
        VECTOR.exp: "within 1 ulp",
        VECTOR.folds["add"]: "summed in another order",
        VECTOR.folds["max"]: _EXACT,
        VECTOR.folds["min"]: _EXACT,
        _ACCELERATE.exp: "as vForce documents; denormals and exceptions may differ",
        _ACCELERATE.folds["add"]: "summed in another order",
        _ACCELERATE.folds["max"]: _VDSP,
        _ACCELERATE.folds["min"]: _VDSP,
    }
)
"""The numerical contract of each function."""


def functions_of(matrix: CpuMatrixBackend, math: CpuMathBackend) -> frozenset[str]:
    """The names of the registry that code may call with these choices."""
    named = ARRAY_MATH.get(math)
    arrays = () if named is None else (named.exp, *named.folds.values())
    whole = (CBLAS_MATMUL,) if matrix is CpuMatrixBackend.CBLAS else ()
    return frozenset((*arrays, *whole)) - C_FUNCTIONS
