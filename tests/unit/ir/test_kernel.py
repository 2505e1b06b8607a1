import subprocess
import sys
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.unit.ir.broken import broken_module
from tests.unit.ir.making import Make, space, tile, view
from tilewright.core.abi import Usage
from tilewright.core.dtypes import f16, f32, i32, i64
from tilewright.core.errors import InternalError, TileTypeError
from tilewright.ir.attrs import UpdateKind
from tilewright.ir.effects import effect_of, is_pure, reads, tree_effect, usage, writes
from tilewright.ir.hash import structural_hash
from tilewright.ir.kernel import Kernel, Parameter
from tilewright.ir.ops.access import LoadOp, StoreOp, UpdateOp
from tilewright.ir.ops.base import Effect
from tilewright.ir.ops.elementwise import NegOp
from tilewright.ir.ops.memory import MemoryAllocOp
from tilewright.ir.ops.regions import ReduceOp, SerialOp
from tilewright.ir.types import DimAttr, MemoryType, element_attr


def test_parameters_in_the_order_of_the_signature():
    m = Make(view((0, 4), (1, 8), dtype=f16, const=True), element_attr(i32))
    assert Kernel(m.done(), "k").parameters == (
        Parameter("p0", f16, (4, 8), (8, 1), const=True),
        Parameter("p1", i32, (), (), const=True),
    )


def test_labels_fall_back_to_the_number():
    kernel = Kernel(Make(labels={3: "m"}).done(), "k")
    assert [kernel.label(DimAttr.of(number)) for number in (3, 4)] == ["m", "d4"]


def test_a_module_without_a_kernel_is_refused():
    with pytest.raises(InternalError, match="TW921"):
        _ = Kernel(ModuleOp([]), "k").op


def test_a_malformed_module_is_refused_each_time():
    kernel = Kernel(broken_module("V-EW-3"), "k")
    for _ in range(2):
        with pytest.raises(TileTypeError, match="V-EW-3"):
            kernel.require_sound()


def made() -> ModuleOp:
    m = Make(view((0, 4)), view((1, 4)), view((2, 4)), view((3, 4)))
    with m.parallel((4, 1)):
        zero = m.const()
        tile_ = m.put(LoadOp(m.args[0], [zero], tile((0, 4)))).result
        m.put(StoreOp(m.args[1], [zero], tile_))
        m.put(UpdateOp(m.args[2], [zero], m.const(0, f32), UpdateKind.ADD))
    return m.done()


def test_usage_follows_what_is_done_not_what_is_declared():
    kernel = Kernel(made(), "k").op
    assert usage(kernel) == (Usage.READ, Usage.WRITE, Usage.READ_WRITE, Usage.NONE)


def test_effects_of_a_tree():
    kernel = Kernel(made(), "k").op
    assert effect_of(kernel) == Effect.NONE
    assert tree_effect(kernel) == Effect.READ | Effect.WRITE
    assert reads(kernel) == (kernel.views[0], kernel.views[2])
    assert writes(kernel) == (kernel.views[1], kernel.views[2])


def test_an_allocation_is_an_effect_and_arithmetic_is_none():
    m = Make()
    alloc = m.put(MemoryAllocOp(MemoryType(element_attr(f32), space((0, 4)))))
    negated = m.put(NegOp(m.const(), element_attr(i64)))
    assert effect_of(alloc) == Effect.ALLOCATE
    assert not is_pure(alloc)
    assert is_pure(negated)


# ----------------------------------------------------------------------------------------------------------------- hash

PROGRAM = """
from tests.unit.ir.test_kernel import made
from tilewright.ir.hash import structural_hash
print(structural_hash(made()))
"""


@pytest.mark.parametrize("seed", ["0", "1"])
def test_hashes_are_equal_across_processes(seed: str):
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", PROGRAM]
    environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": f"{root}:{root / 'src'}", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == structural_hash(made())


def test_a_hash_tells_dimensions_apart_not_their_numbers():
    def square(a: int, b: int, c: int) -> str:
        m = Make(view((a, 4), (b, 4)))
        m.splat(tile((c, 4)))
        return structural_hash(m.done())

    assert square(0, 1, 1) == square(7, 3, 3)
    assert square(0, 1, 1) != square(0, 1, 0)
    assert square(0, 1, 1) != square(0, 1, 2)


def test_a_hash_tells_operands_apart():
    def difference(swap: bool) -> str:
        m = Make(element_attr(i64), element_attr(i64))
        m.put(NegOp(m.args[swap], element_attr(i64)))
        return structural_hash(m.done())

    assert difference(False) != difference(True)


def test_a_hash_tells_regions_apart():
    serial, fold = Make(), Make()
    serial.region(SerialOp(space((0, 2))))
    fold.region(ReduceOp(space((0, 2))))
    assert structural_hash(serial.done()) != structural_hash(fold.done())
