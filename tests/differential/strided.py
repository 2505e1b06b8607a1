"""Captured kernels whose arguments lie in memory in other ways: other strides, and memory to put them in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.rewriter import Rewriter

from tilewright.core.abi import Usage
from tilewright.ir.effects import usage
from tilewright.ir.kernel import Kernel, Parameter
from tilewright.ir.types import ViewType, compact_strides, footprint, view_type
from tilewright.numerics.arrays import Array, numpy_dtype

__all__ = ["GUARD", "LAYOUTS", "Memory", "Strides", "lay_out", "restrided"]

GUARD = 64
Strides = Callable[[tuple[int, ...]], tuple[int, ...]]


def _reversed_axes(shape: tuple[int, ...], gap: int = 0) -> tuple[int, ...]:
    """The first axis innermost; `gap` unused elements after each row of it."""
    padded = (shape[0] + gap, *shape[1:]) if shape else shape
    return tuple(reversed(compact_strides(tuple(reversed(padded)))))


LAYOUTS: Mapping[str, Strides] = {
    "every third": lambda shape: tuple(3 * step for step in compact_strides(shape)),
    "padded rows": lambda shape: compact_strides((*shape[:-1], shape[-1] + 5)) if shape else (),
    "columns first": _reversed_axes,
    "columns first, every other": lambda shape: tuple(2 * step for step in _reversed_axes(shape, 3)),
}
"""Ways in which distinct elements lie in memory."""


def restrided(kernel: Kernel, strides: Strides, *, repeated: bool = False) -> Kernel:
    """The kernel on arguments with other strides; `repeated` gives those that are only read stride 0 on axis 0."""
    module = kernel.module.clone()
    moved = Kernel(module, kernel.name)
    for argument, use in zip(list(moved.op.body.block.args), usage(moved.op), strict=True):
        kind = view_type(argument)
        steps = strides(kind.space.extents)
        if repeated and Usage.WRITE not in use and steps:
            steps = (0, *steps[1:])
        other = ViewType.of(_dtype(kernel, argument.index), kind.space, steps, const=kind.is_const)
        Rewriter.replace_value_with_new_type(argument, other)
    return Kernel(module, kernel.name)


def _dtype(kernel: Kernel, index: int) -> Any:
    return kernel.parameters[index].element


@dataclass(frozen=True)
class Memory:
    """One argument: everything around it, and the array in it."""

    around: Array
    array: Array

    @property
    def flat(self) -> Array:
        """From its first element to its last."""
        count = footprint(self.array.shape, [step // self.array.itemsize for step in self.array.strides])
        return self.around[GUARD : GUARD + count]

    @property
    def address(self) -> int:
        return int(self.around[GUARD:].__array_interface__["data"][0])

    def same_bytes(self, other: "Memory") -> bool:
        """Whether elements, gaps and guards are bit for bit the same."""
        raw: Any = np.uint8
        return bool(np.array_equal(self.around.view(raw), other.around.view(raw)))


def lay_out(parameters: Sequence[Parameter], seed: int = 7) -> list[Memory]:
    """Arguments with random contents, gaps and guards included."""
    rng = np.random.default_rng(seed)
    return [_lay_out(rng, parameter) for parameter in parameters]


def _lay_out(rng: np.random.Generator, parameter: Parameter) -> Memory:
    dtype = numpy_dtype(parameter.element)
    count = footprint(parameter.shape, parameter.strides) + 2 * GUARD
    around = _contents(rng, parameter, count).astype(dtype)
    steps = tuple(step * dtype.itemsize for step in parameter.strides)
    array = np.ndarray(parameter.shape, dtype, around.view(np.uint8), GUARD * dtype.itemsize, steps)
    return Memory(around, array)


def _contents(rng: np.random.Generator, parameter: Parameter, count: int) -> Array:
    if parameter.element.kind == "float":
        return rng.standard_normal(count)
    if parameter.element.kind == "bool":
        return rng.random(count) < 0.5
    return rng.integers(0 if parameter.element.kind == "uint" else -50, 50, count)
