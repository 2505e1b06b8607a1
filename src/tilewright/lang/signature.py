"""The signature of a kernel: what its parameters are, and how arguments meet them."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType

from tilewright.core.codes.capture import BAD_ARGUMENTS, BAD_PARAMETER
from tilewright.core.codes.types import ARGUMENT_MISMATCH
from tilewright.core.dtypes import DType
from tilewright.core.errors import CaptureError, TileTypeError
from tilewright.core.source import Span, user_span
from tilewright.ir.types import compact_strides
from tilewright.lang.annotations import Annotation, ScalarAnnotation, read_annotation
from tilewright.lang.frames import variables_around
from tilewright.lang.spaces import checked_extent, counted_axes

__all__ = ["BoundArguments", "KernelSignature", "ParameterDefinition", "TensorShape", "scalar_shape", "tensor_shape"]


@dataclass(frozen=True, slots=True)
class TensorShape:
    """What a capture needs to know of one argument. `strides` count elements; None is compact row-major.

    `read_only` arguments fit const views only. `name` replaces the parameter's in the IR.
    """

    shape: tuple[int, ...]
    dtype: type[DType] | None = None
    strides: tuple[int, ...] | None = None
    name: str | None = None
    read_only: bool = False


def tensor_shape(
    *extents: int, dtype: type[DType] | None = None, strides: Sequence[int] | None = None, name: str | None = None
) -> TensorShape:
    """The shape of one argument of `capture`. Needed only for parameters without an element type: `dtype`.

    Raises CaptureError: TW131 for an extent that is no whole number from 0, TW108 for another number of strides or
    a negative one.
    """
    shape = tuple(checked_extent(extent, "an argument") for extent in extents)
    steps = None if strides is None else tuple(strides)
    if steps is not None and (len(steps) != len(shape) or any(step < 0 for step in steps)):
        short = f"{len(steps)} strides for {counted_axes(len(shape))}"
        problem = short if len(steps) != len(shape) else f"the strides {steps} count backwards"
        usage = "tensor_shape(64, 32, strides=(32, 1))"
        raise CaptureError(BAD_ARGUMENTS.at(user_span(), kernel="tensor_shape", problem=problem, usage=usage))
    return TensorShape(shape, dtype, steps, name)


def scalar_shape(dtype: type[DType] | None = None, *, name: str | None = None) -> TensorShape:
    """What a capture needs to know of a number: `dtype`, needed only for parameters without an element type."""
    return TensorShape((), dtype, (), name)


@dataclass(frozen=True, slots=True)
class ParameterDefinition:
    """One positional parameter as written: a view or a scalar."""

    name: str
    annotation: Annotation


@dataclass(frozen=True, slots=True)
class BoundArguments:
    """The arguments of one capture: a shape for each positional one (None: absent), and the host configuration."""

    shapes: tuple[TensorShape | None, ...]
    config: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class KernelSignature:
    """The parameters of a kernel, and the signature Python sees."""

    kernel: str
    parameters: tuple[ParameterDefinition, ...]
    python: inspect.Signature
    span: Span

    def bind(self, arguments: Sequence[object], keywords: Mapping[str, object]) -> BoundArguments:
        """Matches arguments with parameters. Raises CaptureError (TW108) where Python would raise a TypeError."""
        try:
            bound = self.python.bind(*arguments, **keywords)
        except TypeError:
            raise self._bad_arguments(self._misfit(len(arguments), keywords)) from None
        bound.apply_defaults()
        names = {parameter.name for parameter in self.parameters}
        shapes = tuple(self._shape(parameter, bound.arguments[parameter.name]) for parameter in self.parameters)
        config = {name: value for name, value in bound.arguments.items() if name not in names}
        return BoundArguments(shapes, config)

    def _misfit(self, positional: int, keywords: Mapping[str, object]) -> str:
        """What keeps arguments from binding. Python words it otherwise from version to version."""
        parameters = self.python.parameters
        names = [name for name, each in parameters.items() if each.kind is not each.KEYWORD_ONLY]
        if positional > len(names):
            return f"{positional} positional arguments are given, and it takes {len(names)}"
        unknown = [name for name in keywords if name not in parameters]
        if unknown:
            return f"it has no parameter {unknown[0]}"
        twice = [name for name in names[:positional] if name in keywords]
        if twice:
            return f"the argument {twice[0]} is given twice"
        only_by_place = [name for name in keywords if parameters[name].kind is inspect.Parameter.POSITIONAL_ONLY]
        if only_by_place:
            return f"the argument {only_by_place[0]} is given by name, and it goes by place"
        given = {*names[:positional], *keywords}
        missing = [name for name, each in parameters.items() if name not in given and each.default is each.empty]
        return f"the argument {missing[0]} is missing"

    def _shape(self, parameter: ParameterDefinition, value: object) -> TensorShape | None:
        if value is None and parameter.annotation.optional:
            return None
        if not isinstance(value, TensorShape):
            kind = "scalar_shape" if isinstance(parameter.annotation, ScalarAnnotation) else "tensor_shape"
            raise self._bad_arguments(f"the argument {parameter.name} is a {type(value).__name__}, not a {kind}")
        return value

    def _bad_arguments(self, problem: str) -> CaptureError:
        shapes = [_spelled(parameter.annotation) for parameter in self.parameters]
        names = {parameter.name for parameter in self.parameters}
        config = [f"{name}=..." for name in self.python.parameters if name not in names]
        usage = f"{self.kernel}.capture({', '.join([*shapes, *config])})"
        return CaptureError(BAD_ARGUMENTS.at(user_span(), kernel=self.kernel, problem=problem, usage=usage))

    def resolve(self, parameter: ParameterDefinition, given: TensorShape) -> tuple[type[DType], tuple[int, ...]]:
        """The element type and the strides of an argument. Raises TileTypeError (TW218) when it does not fit."""
        expected = parameter.annotation
        if len(given.shape) != expected.rank:
            raise self._mismatch(parameter, counted_axes(expected.rank), counted_axes(len(given.shape)))
        dtype = given.dtype or expected.dtype
        if dtype is None:
            raise self._bad_arguments(f"the argument {parameter.name} needs dtype=..., because {expected} takes any")
        if expected.dtype is not None and dtype != expected.dtype:
            raise self._mismatch(parameter, repr(expected.dtype), repr(dtype))
        if given.read_only and not expected.const:
            raise self._mismatch(parameter, "memory that can be written", "a read-only array")
        return dtype, given.strides if given.strides is not None else compact_strides(given.shape)

    def _mismatch(self, parameter: ParameterDefinition, expected: str, got: str) -> TileTypeError:
        name = f"`{parameter.name}`"
        return TileTypeError(
            ARGUMENT_MISMATCH.at(user_span(), name=name, kernel=self.kernel, expected=expected, got=got)
        )


def read_signature(function: FunctionType, span: Span) -> KernelSignature:
    """The signature of a kernel function.

    Raises CaptureError (TW107) for a parameter that is neither view nor scalar nor host value.
    """
    python = inspect.signature(function)
    hints = _Hints(function)
    parameters: list[ParameterDefinition] = []
    for name, parameter in python.parameters.items():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            continue
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            raise _bad(name, function, span, "takes any number of arguments")
        if parameter.annotation is inspect.Parameter.empty:
            raise _bad(name, function, span, "has no annotation")
        annotation = read_annotation(hints.value(parameter.annotation))
        if annotation is None:
            raise _bad(name, function, span, f"is annotated as {_shown(parameter.annotation)}")
        default = parameter.default
        if default is not inspect.Parameter.empty and not (annotation.optional and default is None):
            raise _bad(name, function, span, f"has the default {default!r}")
        parameters.append(ParameterDefinition(name, annotation))
    return KernelSignature(function.__name__, tuple(parameters), python, span)


def _spelled(annotation: Annotation) -> str:
    """How an argument of `capture` is written."""
    if isinstance(annotation, ScalarAnnotation):
        return "scalar_shape()" if annotation.dtype is not None else "scalar_shape(f32)"
    return f"tensor_shape({', '.join(['...'] * annotation.rank)})"


def _bad(name: str, function: FunctionType, span: Span, problem: str) -> CaptureError:
    return CaptureError(BAD_PARAMETER.at(span, name=name, kernel=function.__name__, problem=problem))


def _shown(annotation: object) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


class _Hints:
    """Evaluates annotations that are text (`from __future__ import annotations`) where the kernel was written."""

    def __init__(self, function: FunctionType) -> None:
        self._function = function
        self._locals = variables_around(function)

    def value(self, annotation: object) -> object:
        if not isinstance(annotation, str):
            return annotation
        cells = dict(zip(self._function.__code__.co_freevars, self._function.__closure__ or (), strict=True))
        closure: dict[str, object] = {}
        for name, cell in cells.items():
            try:
                closure[name] = cell.cell_contents
            except ValueError:  # not bound yet
                continue
        try:
            return eval(annotation, self._function.__globals__, {**self._locals, **closure})
        except (NameError, SyntaxError, AttributeError, TypeError):
            return annotation
