"""What a tile asks for ahead covers its region, whatever part of a line a row begins with, and nothing else."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, f32

from tilewright.xir.address_ops import PrefetchOp
from tilewright.xir.builder import XirBuilder
from tilewright.xir.interp import run
from tilewright.xir.ops import KernelOp
from tilewright.xir.passes.microkernel import Lead
from tilewright.xir.types import I64, BufferType

LANES, STRIDE = 16, 1000


def asked(lead: Lead, depth: int) -> list[int]:
    """The indices for all steps of k, as the interpreter computes them."""
    kernel = KernelOp("k", [lead.buffer, BufferType.of(I64, depth)], 1)
    b = XirBuilder(kernel.body.block)
    memory, found, _ = kernel.body.block.args
    with b.for_(0, depth) as loop:
        lead.write(b, memory, b.i64(0), loop.index)
        (ask,) = (op for op in b.block.ops if isinstance(op, PrefetchOp))
        b.store(ask.index, found, loop.index)
    b.return_()
    indices = np.zeros(depth, np.int64)
    run(ModuleOp([kernel]), [np.zeros(1, np.float32), indices])
    return indices.tolist()


@pytest.mark.parametrize("depth", [32, 500, 512])
@pytest.mark.parametrize("shape", [(8, 48), (3, 16), (1, 64), (7, 33)])
@pytest.mark.parametrize("start", [0, 4, 15])
def test_every_line_of_the_region_is_asked_for(start: int, shape: tuple[int, int], depth: int) -> None:
    rows, columns = shape
    indices = asked(Lead.over(BufferType.of(f32, 1), shape, STRIDE, LANES, depth), depth)
    needed = {(start + row * STRIDE + column) // LANES for row in range(rows) for column in range(columns)}
    assert needed <= {(start + index) // LANES for index in indices}
    assert {index % STRIDE for index in indices} <= set(range(columns))
