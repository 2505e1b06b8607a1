"""What the tests of the tiling passes share: run passes on a captured kernel, and compare meanings."""

import numpy as np

from tilewright.interp.run import run as interpret
from tilewright.ir.kernel import Kernel
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
    """Whether both leave the same bits in the same arguments."""
    rng = np.random.default_rng(3)
    arrays: list[Array] = [rng.standard_normal(p.shape).astype(numpy_dtype(p.element)) for p in before.parameters]
    first, second = [a.copy() for a in arrays], [a.copy() for a in arrays]
    interpret(before, first)
    interpret(after, second)
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(first, second, strict=True))
