"""The form that every kernel has in addition to being valid TileIR: independent instances under one root."""

from xdsl.ir import Block, Operation

from tilewright.core.codes.effects import KERNEL_FORM
from tilewright.core.diagnostics import Diagnostic
from tilewright.ir.ops.elementwise import ElementwiseOp
from tilewright.ir.ops.regions import KernelOp, ParallelOp, SerialOp, YieldOp
from tilewright.ir.ops.tiles import ConstantOp
from tilewright.ir.verify.rule import Findings, Rule, op_text

ROOT_OP = Rule("V-FORM-1", KERNEL_FORM, "{op} stands at the root of the kernel, outside of every parallel")
NO_ROOT = Rule("V-FORM-2", KERNEL_FORM, "the kernel {name} has no parallel at its root")

RULES = (ROOT_OP, NO_ROOT)

_ROOT = (ConstantOp, ElementwiseOp, YieldOp)


def kernel_form(module: Operation) -> tuple[Diagnostic, ...]:
    """What keeps the kernels of a verified module from being launched. Routes may ask for more, such as one root."""
    found = Findings()
    for kernel in module.walk():
        if isinstance(kernel, KernelOp):
            _check_root(kernel, found)
    return tuple(found.diagnostics)


def _check_root(kernel: KernelOp, found: Findings) -> None:
    if not _has_parallel(kernel.body.block, found):
        found.add(NO_ROOT, kernel, name=kernel.sym_name.data)


def _has_parallel(block: Block, found: Findings) -> bool:
    """Whether a block at the root holds a parallel, or a loop of one. Finds what may not stand there."""
    has = False
    for op in block.ops:
        match op:
            case ParallelOp():
                has = True
            case SerialOp():
                has |= _has_parallel(op.body.block, found)
            case _ if not isinstance(op, _ROOT):
                found.add(ROOT_OP, op, op=op_text(op))
            case _:
                pass
    return has
