"""Running a kernel on NumPy arrays."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from tilewright.core.codes.dispatch import (
    ARGUMENT_COUNT,
    ARRAY_ELEMENT,
    ARRAY_FOLDED,
    ARRAY_KIND,
    ARRAY_READ_ONLY,
    ARRAY_SHAPE,
    SCALAR_KIND,
    SCALAR_VALUE,
)
from tilewright.core.diagnostics import Code
from tilewright.core.errors import DispatchError, during
from tilewright.core.source import user_span
from tilewright.ir.kernel import Kernel, Parameter
from tilewright.ir.types import ViewType
from tilewright.numerics.arrays import numpy_dtype
from tilewright.numerics.scalars import as_number, element_type_of, packed

from .frame import Frame
from .machine import Checks, Machine, Order
from .meaning import MEANINGS
from .storage import Argument, pools
from .values import Array, Cells

__all__ = ["run"]

LANES = 1 << 20


def run(
    kernel: Kernel, arrays: Sequence[object], *, order: Order = None, check: Checks | None = None, lanes: int = LANES
) -> None:
    """Runs a kernel on NumPy arrays, one a parameter in signature order (a number for a scalar), writing in place.

    Arrays have the parameters' element types and shapes, and any strides; they may overlap. Instances of a `parallel`
    run in lexicographic order, in `"reverse"`, or in an order drawn from a seed; a seed also draws one of the
    regroupings that the policy of each fold permits. `lanes` bounds how many points of a map or fold are evaluated at
    once: 1 is the slow way, point by point, with the same answers.

    Raises DispatchError (TW6xx) for arrays that do not fit, before anything is written; EffectError (TW3xx) for an
    access outside, an integer division by zero, a read of what was never written, two instances that touch one cell,
    or manual memory used out of order.
    """
    bound = _bind(kernel, arrays)
    checks = Checks() if check is None else check
    seeded = None if order is None or order == "reverse" else np.random.default_rng(order)
    machine = Machine(kernel, MEANINGS, checks, order, max(lanes, 1), rng=seeded)
    frame = Frame()
    block = kernel.op.body.block
    for value, argument in zip(block.args, bound, strict=True):
        frame.define(value, argument)
        if isinstance(argument, Argument) and argument.name in checks.poison:
            argument.poison()
    with during(f"interpreting kernel `{kernel.name}`"):
        machine.run(block, frame)


def _bind(kernel: Kernel, arrays: Sequence[object]) -> list[Argument | Cells]:
    parameters = kernel.parameters
    if len(arrays) != len(parameters):
        names = ", ".join(one.name for one in parameters)
        expected, got = len(parameters), len(arrays)
        raise DispatchError(ARGUMENT_COUNT.at(user_span(), kernel=kernel.name, names=names, expected=expected, got=got))
    checked = [_checked(kernel, i, *pair) for i, pair in enumerate(zip(parameters, arrays, strict=True))]
    shared = pools(checked)
    kinds = [value.type for value in kernel.op.body.block.args]
    return [
        Argument(parameter.name, parameter.element, data, pool) if isinstance(kind, ViewType) else Cells(data.copy())
        for parameter, data, pool, kind in zip(parameters, checked, shared, kinds, strict=True)
    ]


def _checked(kernel: Kernel, index: int, parameter: Parameter, array: object) -> Array:
    """The array, when it fits its parameter. Raises DispatchError otherwise."""

    def refuse(code: Code, **values: Any) -> DispatchError:
        return DispatchError(code.at(user_span(), kernel=kernel.name, index=index, name=parameter.name, **values))

    if not parameter.shape and not isinstance(array, np.ndarray):
        return _number(parameter, array, refuse)
    expected = numpy_dtype(parameter.element)
    if not isinstance(array, np.ndarray):
        raise refuse(ARRAY_KIND, got=type(array).__name__)
    data = cast(Array, array)
    if data.dtype != expected:
        raise refuse(ARRAY_ELEMENT, got=data.dtype, expected=parameter.element)
    if data.shape != parameter.shape:
        raise refuse(ARRAY_SHAPE, got=data.shape, expected=parameter.shape)
    if not parameter.const and not data.flags.writeable:
        raise refuse(ARRAY_READ_ONLY)
    if not parameter.const and not _distinct(data):
        raise refuse(ARRAY_FOLDED, strides=data.strides)
    return data


def _number(parameter: Parameter, value: object, refuse: Callable[..., DispatchError]) -> Array:
    """A number in the type of its parameter."""
    name = parameter.element.name
    if as_number(value) is None and element_type_of(value) is None:
        raise refuse(SCALAR_KIND, got=f"a {type(value).__name__}", expected=f"a number of {name}")
    array = packed(value, parameter.element)
    if array is None:
        raise refuse(SCALAR_VALUE, got=repr(value), expected=name)
    return array


def _distinct(data: Array) -> bool:
    """Whether no two elements share a byte: by nested strides, else by looking at every address."""
    axes = sorted((abs(step), extent) for step, extent in zip(data.strides, data.shape, strict=True))
    span = data.itemsize
    for step, extent in axes:
        if step < span:
            break
        span += step * (extent - 1)
    else:
        return True
    if data.size == 0:
        return True
    offsets = np.zeros((), np.int64)
    for step, extent in axes:
        offsets = np.add.outer(offsets, np.arange(extent, dtype=np.int64) * step)
    return bool((np.diff(np.sort(offsets, axis=None)) >= data.itemsize).all())
