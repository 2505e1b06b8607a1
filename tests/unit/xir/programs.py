"""Kernels for the tests of XIR passes."""

from collections.abc import Sequence

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, SSAValue

from tilewright.numerics.arrays import Array
from tilewright.xir.builder import XirBuilder
from tilewright.xir.interp import run
from tilewright.xir.ops import KernelOp
from tilewright.xir.passes.runner import XirPass, run_pipeline
from tilewright.xir.types import BufferType
from tilewright.xir.verify import verify_or_raise

__all__ = ["Program"]

PLACE = FileLineColLoc(StringAttr("kernel.py"), IntAttr(7), IntAttr(5))


class Program:
    """A kernel under construction: `p.b` writes it, `p.buffers` and `p.task` are its arguments."""

    def __init__(self, *buffers: tuple[Attribute, int], tasks: int = 1) -> None:
        self.kernel = KernelOp("k", [BufferType.of(element, extent) for element, extent in buffers], tasks)
        self.kernel.location = PLACE
        self.module = ModuleOp([self.kernel])
        self.b = XirBuilder(self.kernel.body.block, PLACE)
        self.buffers: Sequence[SSAValue] = self.kernel.body.block.args[:-1]
        self.task: SSAValue = self.kernel.body.block.args[-1]

    def end(self) -> ModuleOp:
        self.b.return_()
        verify_or_raise(self.module)
        return self.module

    def through(self, *passes: XirPass) -> ModuleOp:
        """The finished module after the passes."""
        run_pipeline(self.end(), passes)
        return self.module

    def run(self, *arrays: Array, order: list[int] | None = None) -> None:
        run(self.end(), arrays, order)
