import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.unit.ir.broken import BROKEN, BROKEN_MODULES, broken_module
from tests.unit.ir.making import Make, space, tile, view
from tilewright.core import dtypes
from tilewright.core.diagnostics import render
from tilewright.core.dtypes import boolean, f16, i64
from tilewright.core.errors import EffectError, InternalError, TileTypeError
from tilewright.ir.attrs import Policy, UpdateKind
from tilewright.ir.ops.access import LoadElementOp, LoadOp, StoreElementOp, StoreOp, UpdateOp
from tilewright.ir.ops.elementwise import AddOp, EqOp, MulOp, NegOp
from tilewright.ir.ops.memory import MemoryAllocOp, MemoryLoadOp, MemoryStoreOp
from tilewright.ir.ops.regions import PipelineOp, ReduceOp, SerialOp, StageOp, YieldOp
from tilewright.ir.ops.tiles import ExtractOp, MapOp, MmaOp, ScanOp
from tilewright.ir.target import Access, TargetModel
from tilewright.ir.types import BOOL, I64, DimAttr, MemoryType, element_attr
from tilewright.ir.verify import RULES, Accepted, kernel_form, rule_of, verify, verify_or_raise

TARGET = TargetModel.of(
    ["group", "worker"],
    [("group", "worker")],
    ["read", "written"],
    [("worker", "read", Access.LOAD), ("worker", "written", Access.STORE)],
)
F32 = element_attr(dtypes.f32)
TILE = tile((0, 4))


def found(module: ModuleOp) -> list[str]:
    return [rule_of(diagnostic) for diagnostic in (*verify(module, TARGET), *kernel_form(module))]


def test_every_rule_has_a_broken_module():
    assert set(BROKEN) | set(BROKEN_MODULES) == set(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_finds_the_module_that_breaks_it(rule: str):
    assert rule in found(broken_module(rule))


@pytest.mark.parametrize("rule", [rule for rule in RULES if not rule.startswith("V-FORM")])
def test_a_broken_module_breaks_little_else(rule: str):
    others = {name for name in found(broken_module(rule)) if name != rule and not name.startswith("V-FORM")}
    assert len(others) <= 2, others


@pytest.mark.parametrize("rule", RULES)
def test_every_finding_renders_with_a_place_why_and_help(rule: str):
    module = broken_module(rule)
    for diagnostic in (*verify(module, TARGET), *kernel_form(module)):
        text = render(diagnostic)
        assert "why:" in text
        assert "help:" in text
        assert diagnostic.span.line or rule in ("V-YIELD-5", "V-KERNEL-1"), text


@pytest.mark.parametrize(("window", "interval", "rule"), [(0, 2**32, "V-PIPE-2"), (-1, 1, "V-PIPE-1")])
def test_a_pipeline_has_numbers_of_32_bits(window: int, interval: int, rule: str):
    m = Make()
    with m.parallel((3, 1)):
        m.region(PipelineOp(space((1, 2)), window=window, interval=interval))
    assert rule in found(m.done())


def test_what_was_accepted_before_hides_nothing():
    accepted = Accepted()
    for _ in range(2):
        for rule in RULES:
            module = broken_module(rule)
            again = verify(module, TARGET, accepted=accepted)
            assert [rule_of(each) for each in again] == [rule_of(each) for each in verify(module, TARGET)], rule


def test_a_declaration_that_was_accepted_is_asked_about_again_when_anything_of_it_changed():
    m, accepted = Make(), Accepted()
    op = m.put(NegOp(m.const(), I64))
    module = m.done()
    assert not verify(module, accepted=accepted)
    op.properties["surprise"] = BOOL
    assert [rule_of(each) for each in verify(module, accepted=accepted)] == ["V-OP-2"]


def test_findings_accumulate():
    m = Make()
    m.put(AddOp(m.const(), m.const(0, dtypes.f32), I64))
    m.put(LoadOp(m.args[0], [], TILE))
    m.put(StageOp("load"))
    assert found(m.done())[:3] == ["V-EW-3", "V-VIEW-1", "V-STAGE-1"]


def test_what_stands_inside_an_unsound_operation_is_still_looked_at():
    m = Make()
    with m.carrying(SerialOp(space((1, 2)), [m.args[0]])) as loop:
        loop.properties.pop("space")
        m.put(LoadOp(m.args[0], [], TILE))
    assert {"V-OP-2", "V-VIEW-1"} <= set(found(m.module))


@pytest.mark.parametrize(
    ("rule", "kind"), [("V-OP-2", InternalError), ("V-EW-3", TileTypeError), ("V-VIEW-10", EffectError)]
)
def test_raising_takes_the_exception_of_the_gravest_family(rule: str, kind: type[Exception]):
    with pytest.raises(kind):
        verify_or_raise(broken_module(rule))


# ------------------------------------------------------------------------------------------------------ valid modules


def gemm() -> ModuleOp:
    m = Make(view((0, 8), (1, 6), const=True), view((1, 6), (2, 4), const=True), view((0, 8), (2, 4)))
    with m.parallel((3, 2)) as grid:
        zero, four = m.const(), m.const(4)
        row = m.put(MulOp(grid.indices[0], four, I64)).result
        acc = m.splat(tile((5, 4), (6, 4)))
        with m.carrying(PipelineOp(space((4, 3)), [acc], window=2)) as steps:
            m.put(StageOp("load"))
            a = m.put(LoadOp(m.args[0], [row, zero], tile((5, 4), (7, 2)))).result
            b = m.put(LoadOp(m.args[1], [zero, zero], tile((7, 2), (6, 4)))).result
            m.put(StageOp("compute"))
            m.put(YieldOp([m.put(MmaOp(a, b, steps.carries[0])).result]))
        m.put(StoreOp(m.args[2], [row, zero], steps.results[0]))
    return m.done()


def test_gemm_is_valid():
    assert not found(gemm())


def test_half_operands_accumulate_in_f32():
    m = Make()
    a, b = m.splat(tile((0, 2), (2, 3), dtype=f16)), m.splat(tile((2, 3), (1, 2), dtype=f16))
    m.put(MmaOp(a, b, m.splat(tile((0, 2), (1, 2)))))
    assert not verify(m.done())


def test_an_accumulator_of_equal_size_but_another_dimension_is_refused():
    m = Make()
    m.put(MmaOp(m.splat(tile((0, 2), (2, 3))), m.splat(tile((2, 3), (1, 2))), m.splat(tile((0, 2), (7, 2)))))
    assert set(found(m.done())) >= {"V-MMA-3", "V-MMA-6"}


def test_extents_of_one_and_scalars_broadcast():
    m = Make()
    wide, thin = m.splat(tile((0, 4), (1, 3))), m.splat(tile((1, 1)))
    m.put(AddOp(wide, thin, tile((0, 4), (1, 3))))
    m.put(AddOp(wide, m.const(0, dtypes.f32), tile((0, 4), (1, 3))))
    assert not verify(m.done())


def test_maps_folds_and_scans_nest():
    m = Make()
    source = m.splat(tile((0, 4), (1, 3)))
    made = m.put(MapOp(TILE))
    with m.inside(made):
        with m.carrying(ReduceOp(space((1, 3)), [m.const(0, dtypes.f32)])) as fold:
            element = m.put(ExtractOp(source, [made.body.block.args[0], fold.indices[0]])).result
            m.put(YieldOp([m.put(AddOp(fold.carries[0], element, F32)).result]))
        m.put(YieldOp([fold.results[0]]))
    scan = m.put(ScanOp([source], [m.splat(TILE)], DimAttr.of(1), Policy.FOLD_LEFT))
    with m.inside(scan):
        state, element = scan.body.block.args
        m.put(YieldOp([m.put(AddOp(state, element, F32)).result]))
    assert not verify(m.done())


# --------------------------------------------------------------------------------------------------------- independence


def test_a_store_that_depends_on_all_parallel_indices_is_no_race():
    m = Make()
    with m.parallel((1, 2)) as outer, m.parallel((2, 2)) as inner:
        sum_ = m.put(AddOp(outer.indices[0], inner.indices[0], I64)).result
        m.put(StoreElementOp(m.args[0], [sum_], m.const(0, dtypes.f32)))
    assert not verify(m.done())


def test_the_race_names_only_the_axes_that_are_missing():
    m = Make()
    with m.parallel((1, 2), (2, 3)) as grid:
        m.put(StoreElementOp(m.args[0], [grid.indices[0]], m.const(0, dtypes.f32)))
    diagnostics = verify(m.done())
    assert [rule_of(d) for d in diagnostics] == ["V-PAR-1"]
    assert "d2 (extent 3)" in diagnostics[0].message
    assert "d1" not in diagnostics[0].message


def test_one_instance_cannot_race_with_itself():
    m = Make()
    with m.parallel((1, 1)):
        m.put(StoreElementOp(m.args[0], [m.const()], m.const(0, dtypes.f32)))
    assert not verify(m.done())


def test_a_predicate_that_chooses_an_instance_is_enough():
    m = Make()
    with m.parallel((1, 8)) as grid:
        first = m.put(EqOp(grid.indices[0], m.const(), BOOL)).result
        m.put(StoreElementOp(m.args[0], [m.const()], m.const(0, dtypes.f32), predicate=first))
    assert not verify(m.done())


def test_an_address_that_was_loaded_or_carried_depends_on_the_index():
    m = Make(view((0, 16)), view((1, 16), dtype=i64))
    with m.parallel((1, 8)) as grid:
        with m.carrying(SerialOp(space((2, 4)), [m.const()])) as loop:
            m.put(YieldOp([m.put(LoadElementOp(m.args[1], [grid.indices[0]])).result]))
        m.put(StoreElementOp(m.args[0], [loop.results[0]], m.const(0, dtypes.f32)))
    assert not verify(m.done())


def test_a_carried_address_without_the_index_still_races():
    m = Make()
    with m.parallel((1, 8)):
        with m.carrying(SerialOp(space((2, 4)), [m.const()])) as loop:
            m.put(YieldOp([m.put(AddOp(loop.carries[0], loop.indices[0], I64)).result]))
        m.put(StoreElementOp(m.args[0], [loop.results[0]], m.const(0, dtypes.f32)))
    assert found(m.done())[0] == "V-PAR-1"


def test_updates_are_exempt():
    m = Make()
    with m.parallel((1, 8)):
        m.put(UpdateOp(m.args[0], [m.const()], m.const(0, dtypes.f32), UpdateKind.ADD))
    assert not verify(m.done())


def test_a_store_that_never_happens_is_no_race():
    m = Make()
    with m.parallel((1, 8)):
        m.put(StoreOp(m.args[0], [m.const()], m.splat(tile((0, 0)))))
        with m.carrying(SerialOp(space((2, 0)))):
            m.put(StoreElementOp(m.args[0], [m.const()], m.const(0, dtypes.f32)))
    assert not verify(m.done())


# -------------------------------------------------------------------------------------------------------------- memory


@pytest.mark.parametrize(("trips", "rules"), [(0, ["V-FLOW-3"]), (1, []), (3, []), (5, [])])
def test_a_store_in_a_loop_counts_only_when_the_loop_runs(trips: int, rules: list[str]):
    m = Make()
    with m.parallel((1, 1)):
        alloc = m.put(MemoryAllocOp(MemoryType(F32, space((0, 4)))))
        with m.carrying(SerialOp(space((2, trips)), [alloc.state])) as loop:
            m.put(YieldOp([m.put(MemoryStoreOp(alloc.memory, loop.carries[0], m.splat(TILE))).result]))
        m.put(MemoryLoadOp(alloc.memory, loop.results[0]))
    assert found(m.done()) == rules


def test_a_child_instance_may_read_its_parents_memory():
    m = Make()
    with m.parallel((1, 2)):
        alloc = m.put(MemoryAllocOp(MemoryType(F32, space((0, 4)))))
        state = m.put(MemoryStoreOp(alloc.memory, alloc.state, m.splat(TILE))).result
        with m.parallel((2, 2)):
            m.put(MemoryLoadOp(alloc.memory, state))
        m.put(MemoryStoreOp(alloc.memory, state, m.splat(TILE)))
    assert not found(m.done())


def test_two_memories_thread_through_one_loop():
    m = Make()
    with m.parallel((1, 1)):
        allocs = [m.put(MemoryAllocOp(MemoryType(F32, space((0, 4))))) for _ in range(2)]
        states = [m.put(MemoryStoreOp(alloc.memory, alloc.state, m.splat(TILE))).result for alloc in allocs]
        with m.carrying(SerialOp(space((2, 3)), states)) as loop:
            value = m.put(MemoryLoadOp(allocs[0].memory, loop.carries[0])).result
            stored = m.put(MemoryStoreOp(allocs[1].memory, loop.carries[1], value)).result
            m.put(YieldOp([loop.carries[0], stored]))
        m.put(MemoryLoadOp(allocs[1].memory, loop.results[1]))
    assert not found(m.done())


# -------------------------------------------------------------------------------------------------------------- stages


def test_index_arithmetic_may_precede_the_first_stage():
    m = Make()
    with m.carrying(PipelineOp(space((1, 2)))) as steps:
        m.put(NegOp(steps.indices[0], I64))
        m.put(StageOp("load"))
    assert not verify(m.done())


# -------------------------------------------------------------------------------------------------------------- target


def test_scopes_are_not_checked_without_a_target():
    assert not verify(broken_module("V-SCOPE-2"))


def test_an_inner_scope_skips_levels():
    m = Make()
    with m.parallel((1, 2), scope="group"), m.parallel((2, 2)), m.parallel((3, 2), scope="worker"):
        pass
    assert not verify(m.done(), TARGET)


def test_a_scope_contains_itself():
    m = Make()
    with m.parallel((1, 2), scope="worker"), m.parallel((2, 2), scope="worker"):
        pass
    assert not verify(m.done(), TARGET)


def test_containment_has_no_cycle():
    with pytest.raises(ValueError, match="contains itself"):
        TargetModel.of(["a", "b"], [("a", "b"), ("b", "a")])


def test_permissions_name_what_the_target_has():
    with pytest.raises(ValueError, match="lacks"):
        TargetModel.of(["a"], resources=["r"], permissions=[("a", "s", Access.LOAD)])


def test_masks_broadcast_into_the_tile():
    m = Make()
    m.put(LoadOp(m.args[0], [m.const()], TILE, mask=m.splat(tile((0, 1), dtype=boolean))))
    assert not verify(m.done())
