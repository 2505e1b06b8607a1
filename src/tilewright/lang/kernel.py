"""The decorator, and capture: one run of the kernel's body that leaves TileIR behind."""

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, SSAValue

from tilewright.core.codes.capture import KERNEL_RESULT, MISSING_ROOT, NO_SOURCE, REGION_LEFT, REGION_SYNTAX
from tilewright.core.computed import computed
from tilewright.core.errors import CaptureError, during
from tilewright.core.source import Span
from tilewright.ir.kernel import Kernel
from tilewright.ir.location import location_of
from tilewright.ir.ops.regions import KernelOp, YieldOp
from tilewright.ir.types import AxisAttr, DimAttr, SpaceAttr, ViewType, element_attr
from tilewright.lang.annotations import ScalarAnnotation
from tilewright.lang.context import Capture, capturing
from tilewright.lang.guards import CaptureGuards, guards_of
from tilewright.lang.signature import BoundArguments, KernelSignature, ParameterDefinition, TensorShape, read_signature
from tilewright.lang.source import Rewritten, code_span, rewritten
from tilewright.lang.values import Scalar

__all__ = ["Captured", "KernelDefinition", "inline"]

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Captured:
    """One capture: the kernel, and what it read from outside."""

    kernel: Kernel
    guards: CaptureGuards


class KernelDefinition:
    """A function whose positional parameters are views and scalars and whose keyword-only ones are host values.

    Nothing is captured before `capture`. Raises CaptureError: TW105 for what is no function, TW107 for a parameter
    that is none of these, TW109 for a coroutine or generator.
    """

    def __init__(self, function: Callable[..., None], *, name: str | None = None) -> None:
        if not isinstance(function, FunctionType):
            raise CaptureError(NO_SOURCE.at(Span("<unknown>", 0, 0, 0, 0), name=repr(function)))
        self.function = function
        self.name = name or function.__name__
        self.span = code_span(function.__code__)
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            what = "`await` or `yield`"
            raise CaptureError(REGION_SYNTAX.at(self.span, what=what, remedy="a kernel is an ordinary function"))
        self.signature: KernelSignature = read_signature(function, self.span)
        self.__name__, self.__qualname__, self.__doc__ = function.__name__, function.__qualname__, function.__doc__
        self.__module__, self.__wrapped__ = function.__module__, function

    def __repr__(self) -> str:
        return f"<tile kernel {self.name}>"

    def capture(self, *shapes: TensorShape | None, **config: object) -> Kernel:
        """The kernel for arguments of these shapes and this configuration.

        Optional arguments are captured as absent when given as None or left out. Raises CaptureError (1xx),
        TileTypeError (2xx) and EffectError (3xx) of the kernel; other exceptions of its body come out unchanged.
        """
        return self._captured(self.signature.bind(shapes, config))

    def capture_bound(self, arguments: BoundArguments) -> Captured:
        """The same for arguments that are matched already, with the guards that a cached result needs."""
        guards = guards_of(self.function)  # before the body runs, which may change what it reads
        return Captured(self._captured(arguments), guards)

    def _captured(self, arguments: BoundArguments) -> Kernel:
        made = self._rewritten
        with during(f"capturing {self.name}"):
            return _run(self, made, arguments)

    def rewritten_source(self) -> str:
        """The text that runs at capture."""
        return self._rewritten.source

    @computed
    def _rewritten(self) -> Rewritten:
        return rewritten(self.function)


def inline(function: Callable[P, R]) -> Callable[P, R]:
    """Makes a helper that may contain regions. It runs as a part of the kernel that calls it."""
    if not isinstance(function, FunctionType):
        raise CaptureError(NO_SOURCE.at(Span("<unknown>", 0, 0, 0, 0), name=repr(function)))
    made: list[Rewritten] = []

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if not made:
            made.append(rewritten(function))
        result: Any = made[0].function(*args, **kwargs)
        return result

    return call


def _run(definition: KernelDefinition, made: Rewritten, arguments: BoundArguments) -> Kernel:
    pairs = list(zip(definition.signature.parameters, arguments.shapes, strict=True))
    op, capture = _empty_kernel(definition, pairs)
    values = _parameter_values(op, capture, pairs)
    with capturing(capture):
        result: object = made.function(*values, **arguments.config)
    _check_end(definition, capture, result)
    op.body.block.add_op(YieldOp())
    last = op.body.block.last_op
    if last is not None:
        last.location = location_of(definition.span)
    labels: dict[str, Attribute] = {str(number): StringAttr(label) for number, label in capture.labels.items()}
    op.properties["labels"] = DictionaryAttr(labels)
    module = ModuleOp([op])
    module.location = op.location
    kernel = Kernel(module, definition.name, made.source)
    kernel.require_sound()
    return kernel


def _empty_kernel(
    definition: KernelDefinition, pairs: Sequence[tuple[ParameterDefinition, TensorShape | None]]
) -> tuple[KernelOp, Capture]:
    """The kernel operation with its parameters, and a capture that fills it."""
    numbers = 0
    labels: dict[int, str] = {}
    parameters: list[tuple[str, Attribute]] = []
    for parameter, given in pairs:
        if given is None:
            continue
        dtype, strides = definition.signature.resolve(parameter, given)
        name = given.name or parameter.name
        if isinstance(parameter.annotation, ScalarAnnotation):
            parameters.append((name, element_attr(dtype)))
            continue
        axes: list[AxisAttr] = []
        for place, extent in enumerate(given.shape):
            labels[numbers] = f"{name}.{place}"
            axes.append(AxisAttr.of(DimAttr.of(numbers), extent))
            numbers += 1
        kind = ViewType.of(dtype, SpaceAttr.of(axes), strides, const=parameter.annotation.const)
        parameters.append((name, kind))
    op = KernelOp(definition.name, parameters)
    op.location = location_of(definition.span)
    capture = Capture(definition.name, op.body.block, definition.span, labels)
    return op, capture


def _parameter_values(
    op: KernelOp, capture: Capture, pairs: Sequence[tuple[ParameterDefinition, TensorShape | None]]
) -> list[object]:
    """What the body sees: a view or a scalar for each argument, None for an absent one."""
    arguments = iter(op.body.block.args)
    values: list[object] = []
    for parameter, given in pairs:
        values.append(None if given is None else _parameter_value(parameter, next(arguments), capture))
    return values


def _parameter_value(parameter: ParameterDefinition, argument: SSAValue, capture: Capture) -> object:
    annotation = parameter.annotation
    if isinstance(annotation, ScalarAnnotation):
        return Scalar(argument, capture)
    return annotation.kind(argument, parameter.name, capture)


def _check_end(definition: KernelDefinition, capture: Capture, result: object) -> None:
    frame = capture.frame
    if frame is not capture.root:
        raise CaptureError(REGION_LEFT.at(frame.span, region=frame.describe()))
    capture.require_arm(None)
    if result is not None:
        what = f"a {type(result).__name__}"
        raise CaptureError(KERNEL_RESULT.at(definition.span, kernel=definition.name, what=what))
    if not capture.has_root_parallel:
        raise CaptureError(MISSING_ROOT.at(definition.span, kernel=definition.name))
