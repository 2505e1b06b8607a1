"""Each pass, before and after: it rewrites what it says, declines what it says, and changes nothing else."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.golden.golden import check_text
from tests.unit.ir.making import Make, space, tile, view
from tilewright.core.dtypes import f32, i64
from tilewright.ir.ops.access import LoadElementOp, LoadOp, StoreElementOp, StoreOp
from tilewright.ir.ops.convert import CastOp
from tilewright.ir.ops.elementwise import AddOp, ExpOp, FloorDivOp, FloorModOp, LtOp, MulOp, NegOp
from tilewright.ir.ops.memory import MemoryAllocOp, MemoryLoadOp, MemoryStoreOp
from tilewright.ir.ops.regions import ReduceOp, SerialOp, YieldOp
from tilewright.ir.ops.tiles import ExtractOp, MapOp
from tilewright.ir.rewrite import TilePass, run_pipeline
from tilewright.ir.text import print_module
from tilewright.ir.types import BOOL, I64, MemoryType, element_attr
from tilewright.ir.verify import verify
from tilewright.passes.drop_dead_carries import DropDeadCarries
from tilewright.passes.drop_identity_maps import DropIdentityMaps
from tilewright.passes.erase_dead_code import EraseDeadCode
from tilewright.passes.fold_constants import FoldConstants
from tilewright.passes.merge_equal_values import MergeEqualValues
from tilewright.passes.pipelines import CANONICAL

HERE = Path(__file__).parent
F32 = element_attr(f32)
TILE = tile((5, 4))
Before = Callable[[Make], None]


def dead_code(m: Make) -> None:
    with m.parallel((3, 4)) as grid:
        m.put(ExpOp(m.put(LoadOp(m.args[0], [grid.indices[0]], TILE)).result, TILE))
        alloc = m.put(MemoryAllocOp(MemoryType(F32, space((5, 4)))))
        m.region(SerialOp(space((7, 2)), [alloc.state]))
        m.put(StoreElementOp(m.args[0], [grid.indices[0]], m.const(0, f32)))


def live_code(m: Make) -> None:
    with m.parallel((3, 4)) as grid:
        alloc = m.put(MemoryAllocOp(MemoryType(F32, space((5, 4)))))
        m.put(MemoryStoreOp(alloc.memory, alloc.state, m.splat(TILE)))
        with m.carrying(SerialOp(space((7, 2)))):
            m.put(StoreElementOp(m.args[0], [grid.indices[0]], m.const(0, f32)))


def dead_carries(m: Make) -> None:
    with m.parallel((3, 4)) as grid:
        zero, one = m.const(0), m.const(1)
        with m.carrying(SerialOp(space((7, 2)), [zero, one, grid.indices[0]])) as loop:
            kept, dropped, unchanged = loop.carries
            kept = m.put(AddOp(kept, unchanged, I64)).result
            dropped = m.put(MulOp(dropped, kept, I64)).result
            m.put(YieldOp([kept, dropped, unchanged]))
        index = m.put(AddOp(loop.results[0], loop.results[2], I64)).result
        m.put(StoreElementOp(m.args[0], [index], m.const(0, f32)))


def crossed_carries(m: Make) -> None:
    """Swapped values keep each other alive; a state that orders stores stays."""
    with m.parallel((3, 4)) as grid:
        alloc = m.put(MemoryAllocOp(MemoryType(F32, space((5, 4)))))
        with m.carrying(SerialOp(space((7, 2)), [m.const(0), grid.indices[0], alloc.state])) as loop:
            state = m.put(MemoryStoreOp(alloc.memory, loop.carries[2], m.splat(TILE))).result
            m.put(YieldOp([loop.carries[1], loop.carries[0], state]))
        m.put(StoreElementOp(m.args[0], [loop.results[0]], m.const(0, f32)))


def equal_values(m: Make) -> None:
    with m.parallel((3, 4)) as grid:
        a = m.put(MulOp(grid.indices[0], m.const(4), I64)).result
        with m.carrying(SerialOp(space((7, 2)))):
            b = m.put(MulOp(grid.indices[0], m.const(4), I64)).result
            m.put(StoreElementOp(m.args[0], [b], m.const(0, f32)))
        m.put(StoreElementOp(m.args[0], [a], m.const(0, f32)))


def different_values(m: Make) -> None:
    """Loads are snapshots; siblings do not see each other; f32 zero is not i64 zero."""
    with m.parallel((3, 4)) as grid:
        first = m.put(LoadElementOp(m.args[0], [grid.indices[0]])).result
        m.put(StoreElementOp(m.args[0], [grid.indices[0]], m.const(0, f32)))
        second = m.put(LoadElementOp(m.args[0], [grid.indices[0]])).result
        for value in (first, second):
            with m.carrying(SerialOp(space((7, 2)))):
                m.put(StoreElementOp(m.args[0], [grid.indices[0]], m.put(NegOp(value, F32)).result))
                m.put(AddOp(grid.indices[0], m.const(0, i64), I64))


def identity_map(m: Make) -> None:
    with m.parallel((3, 4)) as grid:
        source = m.put(LoadOp(m.args[0], [grid.indices[0]], TILE)).result
        copy = m.put(MapOp(TILE))
        with m.inside(copy):
            m.put(YieldOp([m.put(ExtractOp(source, copy.body.block.args)).result]))
        m.put(StoreOp(m.args[0], [grid.indices[0]], copy.result))


def other_maps(m: Make) -> None:
    """Another dimension, a tile made inside, swapped coordinates."""
    square = tile((5, 4), (6, 4))
    with m.parallel((3, 4)) as grid:
        line = m.splat(TILE)
        renamed = m.put(MapOp(tile((8, 4))))
        with m.inside(renamed):
            m.put(YieldOp([m.put(ExtractOp(line, renamed.body.block.args)).result]))
        inner = m.put(MapOp(TILE))
        with m.inside(inner):
            m.put(YieldOp([m.put(ExtractOp(m.splat(TILE), inner.body.block.args)).result]))
        m.put(StoreOp(m.args[0], [grid.indices[0]], inner.result))
        source = m.splat(square)
        turned = m.put(MapOp(square))
        with m.inside(turned):
            i, j = turned.body.block.args
            m.put(YieldOp([m.put(ExtractOp(source, [j, i])).result]))
        value = m.put(ExtractOp(turned.result, [grid.indices[0], grid.indices[0]])).result
        m.put(StoreOp(m.args[0], [grid.indices[0]], renamed.result))
        m.put(StoreElementOp(m.args[0], [grid.indices[0]], value))


def constants(m: Make) -> None:
    with m.parallel((3, 4)) as grid:
        five = m.put(AddOp(m.const(2), m.const(3), I64)).result
        below = m.put(LtOp(five, m.const(9), BOOL)).result
        ones = m.put(AddOp(m.splat(TILE, 0x3F000000), m.const(0x3F000000, f32), TILE)).result
        rounded = m.put(CastOp(m.const(0x4020000000000001), F32)).result
        m.put(StoreOp(m.args[0], [grid.indices[0]], ones, mask=below))
        m.put(StoreElementOp(m.args[0], [m.put(AddOp(grid.indices[0], five, I64)).result], rounded))
        blocks = m.put(FloorDivOp(grid.indices[0], m.const(4), I64)).result
        inside = m.put(FloorModOp(grid.indices[0], m.const(4), I64)).result
        m.put(StoreElementOp(m.args[0], [m.put(AddOp(blocks, inside, I64)).result], rounded))


def unfolded(m: Make) -> None:
    """A transcendental, a division by zero, an operand that is no constant, an index that reaches its divisor."""
    with m.parallel((3, 4)) as grid:
        m.put(StoreElementOp(m.args[0], [grid.indices[0]], m.put(ExpOp(m.const(0, f32), F32)).result))
        m.put(StoreElementOp(m.args[0], [m.put(FloorModOp(grid.indices[0], m.const(3), I64)).result], m.const(0, f32)))
        nowhere = m.put(FloorDivOp(m.const(1), m.const(0), I64)).result
        m.put(StoreElementOp(m.args[0], [m.put(AddOp(grid.indices[0], nowhere, I64)).result], m.const(0, f32)))


# Pass -> (what it rewrites, what it declines).
CASES: Mapping[TilePass, tuple[Before, Before]] = MappingProxyType(
    {
        EraseDeadCode(): (dead_code, live_code),
        DropDeadCarries(): (dead_carries, crossed_carries),
        MergeEqualValues(): (equal_values, different_values),
        DropIdentityMaps(): (identity_map, other_maps),
        FoldConstants(): (constants, unfolded),
    }
)


def made(before: Before) -> Make:
    m = Make(view((0, 16)))
    before(m)
    m.done()
    return m


def name_of(step: TilePass) -> str:
    return step.name


@pytest.mark.parametrize("step", CASES, ids=name_of)
def test_before_and_after(step: TilePass, golden_accept: bool):
    module = made(CASES[step][0]).module
    before = print_module(module)
    run_pipeline(module, [step])
    text = f"// before\n\n{before}\n// after {step.name}\n\n{print_module(module)}"
    check_text(HERE / f"{step.name}.tile", text, accept=golden_accept)


@pytest.mark.parametrize("step", CASES, ids=name_of)
def test_what_a_pass_declines_it_leaves_as_it_was(step: TilePass):
    module = made(CASES[step][1]).module
    assert not verify(module)
    before = print_module(module)
    trace = run_pipeline(module, [step])
    assert print_module(module) == before
    assert trace.records[0].changes == 0


@pytest.mark.parametrize("step", CASES, ids=name_of)
def test_a_second_run_changes_nothing(step: TilePass):
    module = made(CASES[step][0]).module
    trace = run_pipeline(module, [step, step])
    assert trace.records[1].changes == 0


@pytest.mark.parametrize("step", CANONICAL, ids=name_of)
def test_every_pass_says_what_it_requires_ensures_rewrites_and_declines(step: TilePass):
    text = type(step).__doc__ or ""
    assert all(heading in text for heading in ("Requires:", "Ensures:", "Rewrites:", "Declines when:"))


def test_the_pipeline_holds_every_pass_with_a_golden():
    assert {step.name for step in CANONICAL} == {step.name for step in CASES}


def test_a_reduction_keeps_its_policy_when_it_loses_a_carry():
    m = Make(view((0, 16)))
    with m.parallel((3, 4)) as grid:
        with m.carrying(ReduceOp(space((7, 2)), [m.const(0), m.const(1)])) as fold:
            first = m.put(AddOp(fold.carries[0], fold.indices[0], I64)).result
            m.put(YieldOp([first, m.put(MulOp(fold.carries[1], first, I64)).result]))
        index = m.put(AddOp(grid.indices[0], fold.results[0], I64)).result
        m.put(StoreElementOp(m.args[0], [index], m.const(0, f32)))
    before = fold.policy
    run_pipeline(m.done(), [DropDeadCarries()])
    kept = [op for op in m.module.walk() if isinstance(op, ReduceOp)]
    assert [(op.policy, len(op.inits)) for op in kept] == [(before, 1)]


def test_a_load_of_memory_survives_while_it_is_used():
    m = Make(view((0, 16)))
    with m.parallel((3, 4)) as grid:
        alloc = m.put(MemoryAllocOp(MemoryType(F32, space((5, 4)))))
        state = m.put(MemoryStoreOp(alloc.memory, alloc.state, m.splat(TILE))).result
        m.put(StoreOp(m.args[0], [grid.indices[0]], m.put(MemoryLoadOp(alloc.memory, state)).result))
    before = print_module(m.done())
    run_pipeline(m.module, [EraseDeadCode()])
    assert print_module(m.module) == before
