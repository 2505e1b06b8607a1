"""A kernel with several root parallels, as a sequence of kernels with one each.

Sibling roots are ordered: what the first one wrote, the second one sees. Between them stands a barrier of the whole
machine, which is
what the end of a launch is.
"""

from xdsl.ir import Operation

from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.regions import KernelOp, ParallelOp
from tilewright.ir.rewrite import run_pipeline
from tilewright.passes.erase_dead_code import EraseDeadCode

__all__ = ["phases_of"]


def phases_of(kernel: Kernel) -> tuple[Kernel, ...]:
    """One kernel for each root parallel, in order, with the same parameters; the kernel itself when it has one."""
    count = len(_roots(kernel.op))
    if count <= 1:
        return (kernel,)
    return tuple(_phase(kernel, place) for place in range(count))


def _roots(op: KernelOp) -> list[Operation]:
    return [inner for inner in op.body.block.ops if isinstance(inner, ParallelOp)]


def _phase(kernel: Kernel, place: int) -> Kernel:
    """The kernel with only its root number `place`. Parallels have no results, so the others can go."""
    phase = Kernel(kernel.module.clone(), kernel.name, kernel.rewritten_source)
    for other, root in enumerate(_roots(phase.op)):
        if other != place:
            root.detach()
            root.erase()
    run_pipeline(phase.module, (EraseDeadCode(),))
    return phase
