"""Shaders: compiled kernels of any origin, as the runtime sees them."""

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, SupportsFloat, cast

from tilewright.core.abi import KernelMetadata
from tilewright.core.diagnostics import Diagnostic, render
from tilewright.core.errors import (
    CaptureError,
    DispatchError,
    EffectError,
    InternalError,
    TileTypeError,
    TilewrightError,
    ToolchainError,
    UnsupportedError,
)
from tilewright.core.source import call_trace

from .buffer import Buffer, BufferView
from .context import DeviceContext
from .interface import Binding, NativeShader, PreparedShader
from .invocation import Bound, Invocation, bind, checked_views
from .lifetime import Lifetime

if TYPE_CHECKING:
    from .device import Device

__all__ = ["RefusedShader", "Shader"]

_KEPT = 8  # calls of one shader that need no second check


class Shader:
    """A compiled kernel. `shader(a, b, c).dispatch()` is a command; the shader outlives the device handle.

    A shader is falsy when its kernel could not be compiled (`check=False`): `metadata.error` says why, and so does
    calling it.
    """

    def __init__(self, device: "Device", native: NativeShader) -> None:
        context = device.context
        self.context: DeviceContext = context
        self.native = native
        self.label = f"shader {native.metadata.name}"
        self.lifetime = Lifetime(context.monitor, self.label, native.close, keeps=context)
        self._prepares = native.prepare if isinstance(native, PreparedShader) else None
        self._calls: dict[tuple[int, ...], Bound] = {}
        weakref.finalize(self, self.lifetime.drop)

    def __repr__(self) -> str:
        state = "closed " if self.closed else "" if self.metadata.error is None else "refused "
        return f"<{state}{self.label} on {self.context.label}>"

    def __bool__(self) -> bool:
        """Whether it can be called."""
        return self.metadata.error is None and not self.closed

    def __call__(self, *arguments: BufferView | SupportsFloat) -> Invocation:
        """Checks the arguments and returns the invocation; touches no buffer. A number stands for a scalar parameter.

        Raises the error of a falsy shader, and DispatchError: TW602 closed, TW629 to TW634, TW637 and TW638 the
        arguments; see `tilewright.runtime.invocation.checked_views`.
        """
        trace = call_trace()
        # Buffers that were found open have not gone meanwhile, so what has their identity is them.
        known = self._calls.get(tuple(map(id, arguments)))
        if known is not None and known.is_open():
            return Invocation(self, arguments, known, trace)  # pyright: ignore[reportArgumentType]  they are buffers
        views = checked_views(self, arguments)
        bound = bind(self, views)
        if self._prepares is not None and all(type(given) is Buffer for given in arguments):
            self._remember(tuple(map(id, arguments)), bound)
        return Invocation(self, views, bound, trace)

    def _remember(self, call: tuple[int, ...], bound: Bound) -> None:
        with self.context.monitor.lock:
            self._calls.pop(call, None)  # of buffers that are gone
            if len(self._calls) == _KEPT:
                del self._calls[next(iter(self._calls))]
            self._calls[call] = bound

    @property
    def metadata(self) -> KernelMetadata:
        """Arguments with usage and footprint, dispatch size, source, realisation; see KernelMetadata."""
        return self.native.metadata

    @property
    def closed(self) -> bool:
        return self.lifetime.closed

    def explain(self) -> str:
        """How the kernel was compiled and why: mapping, plan, costs, proofs, rejections."""
        return self.native.report.render()

    def assembly(self) -> str:
        """The machine code as text. Raises the error of a falsy shader, and DispatchError (TW602) when closed."""
        self.require_valid()
        return self.native.assembly()

    def close(self) -> None:
        """Frees the code. Harmless when repeated; while dispatches are pending it behaves like `Buffer.close`."""
        self.context.layer.closing(self.lifetime)
        self.lifetime.close()

    def require_valid(self) -> None:
        """Raises the error of a falsy shader, and DispatchError (TW602) when closed."""
        if self.metadata.error is not None:
            raise error_of(self.metadata.error)
        self.lifetime.require_open()

    def prepare(self, bindings: Sequence[Binding]) -> Callable[[], object]:
        """The launch on checked bindings, as a function that runs it on the calling thread."""
        prepares = self._prepares
        if prepares is None:
            launch = partial(self.native.launch, bindings)
        else:
            launch = prepares([cast("int", each.buffer.address) + each.byte_offset for each in bindings])
        return self.context.layer.launch(launch, bindings)


class RefusedShader:
    """The native side of a falsy shader: metadata with the error, and nothing to run. It is its own report."""

    def __init__(self, metadata: KernelMetadata, error: Diagnostic) -> None:
        self.metadata = metadata
        self.report = self
        self._error = error

    def render(self) -> str:
        return render(self._error)

    def launch(self, _bindings: Sequence[Binding], /) -> None:
        raise error_of(self._error)

    def assembly(self) -> str:
        raise error_of(self._error)

    def close(self) -> None:
        """Nothing was allocated."""


_BY_FAMILY: tuple[type[TilewrightError], ...] = (
    CaptureError, TileTypeError, EffectError, UnsupportedError, ToolchainError, DispatchError, InternalError,
)  # fmt: skip


def error_of(diagnostic: Diagnostic) -> TilewrightError:
    """The exception that carries a diagnostic of this family."""
    family = diagnostic.code.family
    return next((kind(diagnostic) for kind in _BY_FAMILY if family in kind.families), TilewrightError(diagnostic))
