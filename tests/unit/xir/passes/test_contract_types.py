"""Products of integers of different signs, in both orientations that the expansion may choose."""

import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerType, f32

from tests.unit.backends.llvm.emit.program import Program

I8, I32 = IntegerType(8), IntegerType(32)
ROWS, COLUMNS, DEPTH = 19, 5, 7


@pytest.mark.parametrize("by_rows", [False, True], ids=["B contiguous", "A contiguous, so that roles change"])
@pytest.mark.parametrize("unsigned", [(False, False), (True, False), (False, True), (True, True)], ids=str)
@pytest.mark.parametrize("result", [I32, f32], ids=str)
def test_each_side_keeps_its_sign(by_rows: bool, unsigned: tuple[bool, bool], result: IntegerType) -> None:
    p = Program((I8, ROWS * DEPTH), (I8, DEPTH * COLUMNS), (result, ROWS * COLUMNS))
    zero = p.b.i64(0)
    strides = (1, ROWS, 1, DEPTH, 1, ROWS) if by_rows else (DEPTH, 1, COLUMNS, 1, COLUMNS, 1)
    operands = [value for buffer in p.buffers for value in (buffer, zero)]
    p.b.contract(operands, (ROWS, COLUMNS, DEPTH), strides, (4, 1, 8), from_zero=True, unsigned=unsigned)
    rng = np.random.default_rng(0)
    types = [np.uint8 if each else np.int8 for each in unsigned]
    a, b = (rng.integers(0, 256, size, np.uint8) for size in (ROWS * DEPTH, DEPTH * COLUMNS))
    left, right = a.view(types[0]).astype(np.int32), b.view(types[1]).astype(np.int32)
    c = np.zeros(ROWS * COLUMNS, np.int32 if result == I32 else np.float32)
    if by_rows:
        want = (left.reshape(DEPTH, ROWS).T @ right.reshape(COLUMNS, DEPTH).T).T.reshape(-1)
    else:
        want = (left.reshape(ROWS, DEPTH) @ right.reshape(DEPTH, COLUMNS)).reshape(-1)
    for run in (p.interpreted, p.machine):
        assert np.array_equal(run(a.view(np.int8), b.view(np.int8), c)[2], want)
