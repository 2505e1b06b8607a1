"""A kernel with several root parallels, or with ordered loops of them, as launches of kernels with one each.

Launches are ordered: what one wrote, the next one sees. Between them stands a barrier of the whole machine, which is
what the end of a launch is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tilewright.core.codes.unsupported import PHASE_OP
from tilewright.core.errors import UnsupportedError
from tilewright.ir.kernel import Kernel
from tilewright.ir.location import span_of
from tilewright.ir.ops.elementwise import ElementwiseOp
from tilewright.ir.ops.regions import KernelOp, ParallelOp, SerialOp, YieldOp
from tilewright.ir.ops.tiles import ConstantOp
from tilewright.ir.rewrite import run_pipeline
from tilewright.ir.types import I64
from tilewright.ir.verify.rule import op_text
from tilewright.passes.erase_dead_code import EraseDeadCode
from tilewright.passes.retile import Retiling

__all__ = ["Launch", "Repeat", "Step", "steps_of"]


@dataclass(frozen=True)
class Launch:
    """One launch. Its kernel takes the indices of the loops around it as i64 scalars, after its own parameters."""

    kernel: Kernel


@dataclass(frozen=True)
class Repeat:
    """Steps that run once for each point of a domain, last axis fastest."""

    extents: tuple[int, ...]
    steps: "tuple[Step, ...]"


Step = Launch | Repeat


def steps_of(kernel: Kernel) -> tuple[Step, ...]:
    """The launches of a kernel, in order; one launch of the kernel itself where it is a single parallel.

    Raises UnsupportedError (TW443) for work that stands outside of every parallel.
    """
    ops = list(kernel.op.body.block.ops)
    if sum(isinstance(op, ParallelOp) for op in ops) == 1 and not any(isinstance(op, SerialOp) for op in ops):
        return (Launch(kernel),)
    return tuple(_steps(kernel, kernel.op.body.block, (), ()))


def _steps(kernel: Kernel, block: Block, before: Sequence[Operation], indices: Sequence[SSAValue]) -> Iterator[Step]:
    """`before` are the scalar operations of the blocks around that come first, `indices` the loop indices around."""
    scalars = list(before)
    for op in block.ops:
        match op:
            case ConstantOp() | ElementwiseOp():
                scalars.append(op)
            case ParallelOp():
                yield Launch(_phase(kernel, op, scalars, indices))
            case SerialOp() if not op.inits:
                inner = tuple(_steps(kernel, op.body.block, scalars, (*indices, *op.indices)))
                yield Repeat(op.space.extents, inner)
            case YieldOp():
                continue
            case _:
                what = "a loop that carries values" if isinstance(op, SerialOp) else op_text(op)
                raise UnsupportedError(PHASE_OP.at(span_of(op), what=what))


def _phase(kernel: Kernel, root: ParallelOp, scalars: Sequence[Operation], indices: Sequence[SSAValue]) -> Kernel:
    """A kernel of one parallel, with the scalars it needs."""
    old = kernel.op
    labels = [label.data for label in old.parameters.data]
    parameters = [(label, argument.type) for label, argument in zip(labels, old.body.block.args, strict=True)]
    parameters += [(f"loop index {place}", I64) for place in range(len(indices))]
    made = KernelOp(kernel.name, parameters)
    made.properties["labels"] = old.labels
    made.location = old.location
    copying = Retiling({})
    copying.values.update(zip((*old.body.block.args, *indices), made.body.block.args, strict=True))
    for op in (*scalars, root):
        made.body.block.add_op(copying.copy(op))
    end = YieldOp()
    end.location = old.location
    made.body.block.add_op(end)
    phase = Kernel(ModuleOp([made]), kernel.name, kernel.rewritten_source)
    run_pipeline(phase.module, (EraseDeadCode(),))
    return phase
