"""Which parts of a kernel outside code computes: contracts from TileIR, spent on TIRx that is proved again."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.export.kernel import Exported
from tilewright.bridge.tirx.options import TirxOptions
from tilewright.bridge.tirx.providers import matrix
from tilewright.bridge.tirx.providers.array_calls import ArrayCalls
from tilewright.bridge.tirx.providers.choices import (
    ARRAY_MATH,
    C_FUNCTIONS,
    CBLAS_MATMUL,
    NUMBERS,
    CpuMathBackend,
    CpuMatrixBackend,
)
from tilewright.bridge.tirx.providers.product import NoProduct, product_of
from tilewright.core.codes.unsupported import PROVIDER_ELSEWHERE, PROVIDER_UNPROVED
from tilewright.core.errors import CapabilityError, PlanError
from tilewright.core.source import user_span
from tilewright.ir.kernel import Kernel
from tilewright.ir.location import span_of

__all__ = ["Provided", "provide", "provider_lines", "require_target"]


_MACOS = "darwin"
_NOTHING = "no part of the kernel is proved to be a function of a whole array"


@dataclass(frozen=True, slots=True)
class Provided:
    """The function with its calls, the C functions in it, call sites by the name of what is called, and reasons for
    which a candidate stayed as it was.
    """

    function: Any
    symbols: frozenset[str]
    sites: Mapping[str, int] = field(default_factory=lambda: MappingProxyType(dict[str, int]()))
    declined: tuple[str, ...] = ()


def provider_lines(sites: Mapping[str, int]) -> list[str]:
    """One function a line."""
    return [f"provider {name}: {count} call sites, {NUMBERS[name]}" for name, count in sites.items()]


def require_target(options: TirxOptions) -> None:
    """Raises CapabilityError (TW476) where code is asked for that can only run on macOS, and this is another system."""
    if options.cpu_math_backend is CpuMathBackend.ACCELERATE and sys.platform != _MACOS:
        raise _elsewhere(options.cpu_math_backend)


def provide(door: Door, kernel: Kernel, exported: Exported, options: TirxOptions) -> Provided:
    """Raises PlanError (TW475) where CBLAS is asked for and the kernel is not proved to be a product."""
    if options.cpu_matrix_backend is CpuMatrixBackend.CBLAS:
        return _whole(door, kernel, exported)
    if options.cpu_math_backend is CpuMathBackend.REFERENCE:
        return Provided(exported.function, exported.symbols)
    return _by_arrays(door, exported, options.cpu_math_backend)


def _by_arrays(door: Door, exported: Exported, backend: CpuMathBackend) -> Provided:
    calls = ArrayCalls(door, ARRAY_MATH[backend])
    function = exported.function.with_body(calls.statement(exported.function.body))
    nothing = [] if calls.sites or calls.declined else [_NOTHING]
    declined = tuple(f"provider declined: {reason}" for reason in (*sorted(calls.declined), *nothing))
    symbols = exported.symbols | (C_FUNCTIONS & calls.sites.keys())
    return Provided(function, symbols, MappingProxyType(dict(sorted(calls.sites.items()))), declined)


def _whole(door: Door, kernel: Kernel, exported: Exported) -> Provided:
    product = product_of(kernel)
    if isinstance(product, NoProduct):
        raise _unproved(kernel, product.reason)
    noted = matrix.with_contract(door, exported.function, product)
    found = matrix.call_for(door, noted)
    if isinstance(found, str):
        raise _unproved(kernel, found)
    return Provided(found, frozenset(), MappingProxyType({CBLAS_MATMUL: 1}))


def _unproved(kernel: Kernel, reason: str) -> PlanError:
    option = "cpu_matrix_backend=CBLAS"
    return PlanError(PROVIDER_UNPROVED.at(span_of(kernel.op), option=option, kernel=kernel.name, reason=reason))


def _elsewhere(backend: CpuMathBackend) -> CapabilityError:
    option, instead = "cpu_math_backend", CpuMathBackend.VECTOR.name
    found = PROVIDER_ELSEWHERE.at(
        user_span(), option=option, value=backend.name, needed="macOS", found=sys.platform, instead=instead
    )
    return CapabilityError(found)
