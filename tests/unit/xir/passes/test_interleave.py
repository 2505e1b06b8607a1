"""What takes turns, what does not, and that the module stays one that computes the same."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation, SSAValue

from tilewright.numerics.arrays import Array
from tilewright.xir.builder import XirBuilder
from tilewright.xir.interp import run
from tilewright.xir.ops import KernelOp, LoadOp
from tilewright.xir.passes.interleave import Interleave
from tilewright.xir.types import BufferType
from tilewright.xir.verify import verify

LANES, LENGTH, PLACES = 16, 14, 8
Steps = list[type[Operation]]


class Module:
    """A kernel over one buffer of eight vectors."""

    def __init__(self) -> None:
        self.kernel = KernelOp("k", [BufferType.of(f32, LANES * PLACES)], 1)
        self.b = XirBuilder(self.kernel.body.block)
        self.memory = self.kernel.body.block.args[0]

    def load(self, place: int) -> SSAValue:
        return self.b.load(self.memory, self.b.i64(place * LANES), LANES)

    def store(self, value: SSAValue, place: int) -> None:
        self.b.store(value, self.memory, self.b.i64(place * LANES))

    def long(self, value: SSAValue, first: Callable[[SSAValue, SSAValue], SSAValue] | None = None) -> SSAValue:
        """A chain of LENGTH operations, sums but for the first."""
        value = (first or self.b.fadd)(value, value)
        for _ in range(LENGTH - 1):
            value = self.b.fadd(value, value)
        return value

    def interleaved(self) -> tuple[int, list[Operation]]:
        """How many chains take turns, and the arithmetic in its new order; the results stay the same."""
        self.b.return_()
        module = ModuleOp([self.kernel])
        before = self._results(module)
        changed = Interleave().apply(module)
        verify(module)
        np.testing.assert_array_equal(self._results(module), before)
        return changed, [op for op in self.kernel.body.block.ops if isinstance(op, arith.AddfOp | arith.MulfOp)]

    @staticmethod
    def _results(module: ModuleOp) -> Array:
        values = np.arange(LANES * PLACES, dtype=np.float32)
        run(module, [values])
        return values


def switches(ops: list[Operation]) -> int:
    """How often an operation does not continue the one before it."""
    return sum(later.operands[0] is not earlier.results[0] for earlier, later in pairwise(ops))


@pytest.mark.parametrize(("count", "turns"), [(1, 0), (2, 2), (3, 2), (4, 4), (7, 6)])
def test_two_or_four_long_chains_take_turns(count: int, turns: int) -> None:
    m = Module()
    results = [m.long(m.load(place)) for place in range(count)]
    for place, result in enumerate(results):
        m.store(result, place)
    changed, ops = m.interleaved()
    assert changed == turns
    alone = count - turns
    assert switches(ops) == turns * LENGTH + alone - 1


def test_short_chains_stay() -> None:
    m = Module()
    for place, result in enumerate([m.b.fadd(value, value) for value in map(m.load, range(4))]):
        m.store(result, place)
    changed, ops = m.interleaved()
    assert (changed, len(ops)) == (0, 4)


def test_chains_of_different_form_stay() -> None:
    m = Module()
    results = [m.long(m.load(0)), m.long(m.load(1), m.b.fmul)]
    for place, result in enumerate(results):
        m.store(result, place)
    assert m.interleaved()[0] == 0


def test_a_store_that_the_next_one_may_read_keeps_chains_apart() -> None:
    m = Module()
    for _ in range(2):
        m.store(m.long(m.load(0)), 0)
    assert m.interleaved()[0] == 0


def test_stores_that_nothing_reads_come_last_in_their_order() -> None:
    """They write to another buffer, twice to the same place, and what they write is used on as well."""
    m = Module()
    aside = m.b.alloc(f32, LANES)
    results: list[SSAValue] = []
    for place in range(2):
        result = m.long(m.load(place))
        m.b.store(result, aside, m.b.i64(0))
        results.append(m.b.fmul(result, result))
    m.store(m.b.load(aside, m.b.i64(0), LANES), 2)
    for place, result in enumerate(results):
        m.store(result, place)
    assert m.interleaved()[0] == 2


def test_what_both_need_comes_first_and_what_needs_both_last() -> None:
    m = Module()
    shared = m.load(3)
    first, second = (m.long(m.b.fadd(m.load(place), shared)) for place in range(2))
    m.store(m.b.fmul(first, second), 2)
    m.store(first, 0)
    m.store(second, 1)
    changed, ops = m.interleaved()
    assert changed == 0  # the product needs both, so that neither only serves what follows
    assert isinstance(ops[-1], arith.MulfOp)

    m = Module()
    shared = m.b.fmul(m.load(3), m.load(3))
    for place, result in enumerate([m.long(m.b.fadd(m.load(place), shared)) for place in range(2)]):
        m.store(result, place)
    changed, ops = m.interleaved()
    assert changed == 2
    assert isinstance(ops[0], arith.MulfOp)


@pytest.mark.parametrize(("held", "turns"), [(6, 4), (9, 2), (20, 0)])
def test_values_of_all_chains_fit_the_registers(held: int, turns: int) -> None:
    """A chain that holds many values at once leaves room for fewer others."""
    m = Module()
    results: list[SSAValue] = []
    for place in range(4):
        values = [m.load(place)]
        for _ in range(held + LENGTH):
            values.append(m.b.fadd(values[-1], values[0]))
        total = values[-1]
        for value in values[1:held]:
            total = m.b.fadd(total, value)
        results.append(total)
    for place, result in enumerate(results):
        m.store(result, place)
    changed, ops = m.interleaved()
    starts = [place for place, op in enumerate(ops) if isinstance(op.operands[0].owner, LoadOp)]
    together = next(number for number in range(1, 5) if starts[number:] == [] or starts[number] != number)
    assert (changed, together) == ((4, turns) if turns else (0, 1))
