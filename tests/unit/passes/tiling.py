"""What the tests of the tiling passes share: run passes on a captured kernel, and compare meanings."""

import numpy as np

from tilewright.interp.run import run as interpret
from tilewright.ir.kernel import Kernel, Parameter
from tilewright.ir.rewrite import TilePass, run_pipeline
from tilewright.numerics.arrays import Array, numpy_dtype

__all__ = ["applied", "notes_of", "same_meaning"]


def applied(kernel: Kernel, *passes: TilePass) -> tuple[Kernel, str]:
    """The kernel after the passes, and all that they said."""
    module = kernel.module.clone()
    trace = run_pipeline(module, passes)
    return Kernel(module, kernel.name), "\n".join(note for record in trace.records for note in record.notes)


def notes_of(kernel: Kernel, *passes: TilePass) -> str:
    """What the passes say of a kernel."""
    return applied(kernel, *passes)[1]


def same_meaning(before: Kernel, after: Kernel) -> bool:
    """Whether both leave the same numbers in the same arguments, from plain numbers and from unpleasant ones."""
    return all(_same_results(before, after, share) for share in (0.0, 0.2))


def _same_results(before: Kernel, after: Kernel, share: float) -> bool:
    """`share` of all inputs are NaN, infinite or -0."""
    rng = np.random.default_rng(3)
    arrays = [_filled(rng, p, share) for p in before.parameters]
    first, second = [a.copy() for a in arrays], [a.copy() for a in arrays]
    interpret(before, first)
    interpret(after, second)
    return all(_same(a, b) for a, b in zip(first, second, strict=True))


def _filled(rng: np.random.Generator, parameter: Parameter, share: float) -> Array:
    numbers = rng.standard_normal(parameter.shape)
    if parameter.element.is_float:
        chosen = rng.random(parameter.shape) < share
        numbers = np.where(chosen, rng.choice([np.nan, np.inf, -np.inf, -0.0], parameter.shape), numbers)
    return numbers.astype(numpy_dtype(parameter.element))


def _same(a: Array, b: Array) -> bool:
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a[a == 0]), np.signbit(b[b == 0]))
