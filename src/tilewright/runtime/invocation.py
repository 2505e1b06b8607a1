"""Shader calls: arguments checked against the kernel's metadata before anything is enqueued."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from tilewright.core.abi import KernelArgument, Usage
from tilewright.core.codes.dispatch import (
    ARGUMENT_COUNT,
    ARGUMENT_DEVICE,
    ARGUMENT_ELEMENT,
    ARGUMENT_FOOTPRINT,
    ARGUMENT_KIND,
    ARGUMENT_OVERLAP,
    SCALAR_KIND,
    SCALAR_VALUE,
)
from tilewright.core.diagnostics import Code
from tilewright.core.errors import DispatchError
from tilewright.core.source import Span, Trace, span_of, user_span
from tilewright.numerics.scalars import as_number, packed

from .buffer import Buffer, BufferView
from .capability import Capability
from .command import Access, Command
from .inline import CodeCall, code_of
from .lifetime import Lifetime

if TYPE_CHECKING:
    from .context import DeviceContext
    from .shader import Shader

__all__ = ["Bound", "DispatchCommand", "Invocation", "bind", "checked_views"]


@dataclass(slots=True, eq=False)
class Bound:
    """A shader with checked arguments, as data that keeps neither alive: what a launch needs of them."""

    context: "DeviceContext"
    lifetimes: Sequence[Lifetime]
    accesses: Sequence[Access]
    launch: Callable[[], object]
    closings: int = -1

    def is_open(self) -> bool:
        """Whether shader and buffers are. No work while nothing of the device was closed since the last look."""
        closings = self.context.monitor.closings
        if self.closings == closings:
            return True
        if any(lifetime.closed for lifetime in self.lifetimes):
            return False
        self.closings = closings
        return True


@dataclass(slots=True, eq=False)
class Invocation:
    """A shader with checked arguments. `dispatch()` makes the command."""

    shader: "Shader"
    views: Sequence[BufferView]
    bound: Bound
    trace: Trace

    @property
    def span(self) -> Span:
        """Where the shader was called."""
        return span_of(self.trace)

    @property
    def dispatch_size(self) -> tuple[int, int, int]:
        """The extent of the launch, from the captured kernel and never from the buffers."""
        return self.shader.metadata.dispatch_size

    def dispatch(self) -> "DispatchCommand":
        """The command that runs the shader; it may be enqueued any number of times."""
        return DispatchCommand(self.trace, self.shader, self.views, self.bound)


@dataclass(slots=True, eq=False)
class DispatchCommand(Command):
    """One launch of a shader. Keeps the shader and its buffers."""

    shader: "Shader"
    views: Sequence[BufferView]
    bound: Bound
    needs = Capability.COMPUTE

    @property
    def context(self) -> "DeviceContext":
        return self.bound.context

    @property
    def resources(self) -> Sequence[Lifetime]:
        return self.bound.lifetimes

    @property
    def accesses(self) -> Sequence[Access]:
        """The footprint of every argument that the kernel uses, which may be less than the view."""
        return self.bound.accesses

    @property
    def run(self) -> Callable[[], object]:
        return self.bound.launch

    def code(self) -> CodeCall | None:
        return code_of(self.bound.launch)

    def is_ready(self, context: "DeviceContext") -> bool:
        bound = self.bound
        return bound.context is context and bound.is_open()

    def describe(self) -> str:
        return f"the dispatch of {self.shader.metadata.name}"

    def execute(self) -> None:
        self.bound.launch()


def checked_views(shader: "Shader", arguments: Sequence[object]) -> tuple[BufferView, ...]:
    """Checks a call in this order; every failure names the parameter, what was expected and what was given.

    1. the shader is valid and open (TW602); 2. as many arguments as parameters (TW629); 3. each is a Buffer or
    BufferView (TW630), open (TW602), of the shader's device (TW631); 4. inside its buffer, which views
    hold by construction; 5. of the parameter's element type (TW632) and at least its footprint (TW633); 6. on routes
    that promise disjoint writes, no written footprint overlaps another argument's (TW634). What is left, 7., is data:
    handle, byte offset and size of each argument, and the dispatch size of the metadata.
    """
    shader.require_valid()
    metadata = shader.metadata
    if len(arguments) != len(metadata.arguments):
        names = ", ".join(f"`{argument.name}`" for argument in metadata.arguments) or "nothing"
        got, expected = len(arguments), len(metadata.arguments)
        raise DispatchError(
            ARGUMENT_COUNT.at(user_span(), kernel=metadata.name, names=names, got=got, expected=expected)
        )
    views = tuple(
        _checked(shader, index, parameter, given)
        for index, (parameter, given) in enumerate(zip(metadata.arguments, arguments, strict=True))
    )
    if metadata.disjoint_writes:
        _refuse_overlaps(metadata.name, metadata.arguments, views)
    return views


def bind(shader: "Shader", views: Sequence[BufferView]) -> Bound:
    """What a launch on these checked views needs."""
    pairs = zip(shader.metadata.arguments, views, strict=True)
    return Bound(
        shader.context,
        (shader.lifetime, *(view.buffer.lifetime for view in views)),
        tuple(view.access(argument.usage, argument.minimum_size_bytes) for argument, view in pairs),
        shader.prepare(tuple(view.binding() for view in views)),
    )


def _checked(shader: "Shader", index: int, parameter: KernelArgument, given: object) -> BufferView:
    def refused(code: Code, got: object, expected: object) -> DispatchError:
        kernel, name, shape = shader.metadata.name, parameter.name, parameter.shape
        return DispatchError(
            code.at(user_span(), index=index, name=name, kernel=kernel, got=got, expected=expected, shape=shape)
        )

    if not isinstance(given, BufferView):
        if parameter.is_scalar:
            return _buffer_of(shader, given, parameter, refused)
        raise refused(ARGUMENT_KIND, f"a {type(given).__name__}", "a buffer")
    given.buffer.lifetime.require_open()
    context = given.buffer.context
    if context is not shader.context:
        raise refused(ARGUMENT_DEVICE, context.label, shader.context.label)
    if given.dtype is not parameter.element and given.dtype != parameter.element:
        raise refused(ARGUMENT_ELEMENT, given.dtype.name, parameter.element.name)
    if given.size_bytes < parameter.minimum_size_bytes:
        raise refused(ARGUMENT_FOOTPRINT, given.size_bytes, parameter.minimum_size_bytes)
    return given


def _buffer_of(
    shader: "Shader", given: object, parameter: KernelArgument, refused: Callable[[Code, object, object], DispatchError]
) -> BufferView:
    """A number in a buffer of its own, which lives as long as the invocation."""
    dtype = parameter.element
    array = packed(given, dtype)
    if array is None and as_number(given) is None:
        raise refused(SCALAR_KIND, f"a {type(given).__name__}", f"a number of {dtype.name}")
    if array is None:
        raise refused(SCALAR_VALUE, repr(given), dtype.name)
    buffer = Buffer(shader.context, dtype, 1)
    shader.context.interface.upload(buffer.native, 0, memoryview(array.tobytes()))
    return buffer.view()


def _refuse_overlaps(kernel: str, parameters: Sequence[KernelArgument], views: Sequence[BufferView]) -> None:
    arguments = list(zip(range(len(views)), parameters, views, strict=True))
    for (i, first, first_view), (j, second, second_view) in combinations(arguments, 2):
        written = [p.name for p in (first, second) if Usage.WRITE in p.usage]
        begin, end = _footprint(first, first_view)
        other_begin, other_end = _footprint(second, second_view)
        if not written or not _same_memory(first_view, second_view) or max(begin, other_begin) >= min(end, other_end):
            continue
        raise DispatchError(
            ARGUMENT_OVERLAP.at(
                user_span(),
                kernel=kernel,
                what=first_view.buffer.label,
                first_index=i,
                first=first.name,
                first_range=f"{begin}:{end}",
                second_index=j,
                second=second.name,
                second_range=f"{other_begin}:{other_end}",
                written=" and ".join(f"`{name}`" for name in written),
            )
        )


def _footprint(parameter: KernelArgument, view: BufferView) -> tuple[int, int]:
    return view.byte_offset, view.byte_offset + parameter.minimum_size_bytes


def _same_memory(first: BufferView, second: BufferView) -> bool:
    """The same native buffer, or two that name the same host memory."""
    one, two = first.buffer.native, second.buffer.native
    return one.handle == two.handle or (one.address is not None and one.address == two.address)
