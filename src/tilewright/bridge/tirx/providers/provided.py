"""Which parts of a kernel outside code computes: contracts from TileIR, spent on TIRx that is proved again."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.export.kernel import Exported
from tilewright.bridge.tirx.options import TirxOptions
from tilewright.bridge.tirx.providers import matrix
from tilewright.bridge.tirx.providers.array_calls import ArrayCalls
from tilewright.bridge.tirx.providers.choices import (
    ARRAY_MATH,
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

__all__ = ["NO_CALLS", "ProviderCalls", "Provided", "provide"]


_MACOS = "darwin"
_NOTHING = "no part of the kernel is proved to be a function of a whole array"


@dataclass(frozen=True, slots=True)
class ProviderCalls:
    """Call sites by the name of the function, and reasons for which a candidate stayed as it was."""

    sites: Mapping[str, int]
    declined: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """One function a line."""
        called = [f"provider {name}: {sites} call sites, {NUMBERS[name]}" for name, sites in self.sites.items()]
        return [*called, *(f"provider declined: {reason}" for reason in self.declined)]


NO_CALLS = ProviderCalls(MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Provided:
    """The function with its calls, and the C functions that are left in it."""

    function: Any
    symbols: frozenset[str]
    calls: ProviderCalls


def provide(door: Door, kernel: Kernel, exported: Exported, options: TirxOptions) -> Provided:
    """Raises PlanError (TW475) where CBLAS is asked for and the kernel is not proved to be a product, CapabilityError
    (TW476) where ACCELERATE is asked for elsewhere than on macOS.
    """
    backend = options.cpu_math_backend
    if backend is CpuMathBackend.ACCELERATE and sys.platform != _MACOS:
        raise _elsewhere(backend)
    if options.cpu_matrix_backend is CpuMatrixBackend.CBLAS:
        return _whole(door, kernel, exported)
    if backend is CpuMathBackend.REFERENCE:
        return Provided(exported.function, exported.symbols, NO_CALLS)
    return _by_arrays(door, exported, backend)


def _by_arrays(door: Door, exported: Exported, backend: CpuMathBackend) -> Provided:
    calls = ArrayCalls(door, ARRAY_MATH[backend])
    function = exported.function.with_body(calls.statement(exported.function.body))
    nothing = [] if calls.sites or calls.declined else [_NOTHING]
    made = ProviderCalls(MappingProxyType(dict(sorted(calls.sites.items()))), (*sorted(calls.declined), *nothing))
    return Provided(function, exported.symbols, made)


def _whole(door: Door, kernel: Kernel, exported: Exported) -> Provided:
    product = product_of(kernel)
    if isinstance(product, NoProduct):
        raise _unproved(kernel, product.reason)
    noted = matrix.with_contract(door, exported.function, product)
    found = matrix.call_for(door, noted, exported.function)
    if isinstance(found, str):
        raise _unproved(kernel, found)
    return Provided(found, frozenset(), ProviderCalls(MappingProxyType({CBLAS_MATMUL: 1})))


def _unproved(kernel: Kernel, reason: str) -> PlanError:
    option = "cpu_matrix_backend=CBLAS"
    return PlanError(PROVIDER_UNPROVED.at(span_of(kernel.op), option=option, kernel=kernel.name, reason=reason))


def _elsewhere(backend: CpuMathBackend) -> CapabilityError:
    option, instead = "cpu_math_backend", CpuMathBackend.VECTOR.name
    found = PROVIDER_ELSEWHERE.at(
        user_span(), option=option, value=backend.name, needed="macOS", found=sys.platform, instead=instead
    )
    return CapabilityError(found)
