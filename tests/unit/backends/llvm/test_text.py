from collections.abc import Callable

import numpy as np
import pytest

from tests.unit.backends.llvm.run import build, run
from tilewright.backends.llvm.flags import NO_WRAP, NSW, REASSOCIATE
from tilewright.backends.llvm.jit import assembly, compile_object
from tilewright.backends.llvm.memory import NONTEMPORAL
from tilewright.backends.llvm.target import APPLE_M1, NEOVERSE_N1, X86_64_V3, X86_64_V4
from tilewright.backends.llvm.text import INTERNAL, Function, Module, Parameter
from tilewright.backends.llvm.types import DOUBLE, FLOAT, HALF, I1, I8, I16, I32, I64, PTR, VOID, vector
from tilewright.backends.llvm.values import NULL, constant, integers, poison, zero
from tilewright.core.errors import InternalError

F8, L8, M8 = vector(FLOAT, 8), vector(I64, 8), vector(I1, 8)


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def test_a_loop_carries_all_values_at_once() -> None:
    """Fibonacci: both carried values come from the previous iteration."""
    out = np.zeros(2, np.int64)

    def body(f: Function) -> None:
        with f.up_to(constant(I64, 10), [constant(I64, 0), constant(I64, 1)]) as each:
            a, b = each.carried
            each.advance(b, f.add(a, b))
        for k, value in enumerate(each.results):
            f.store(value, f.offset(f.argument("out"), constant(I64, k), I64))

    run(body, out)
    assert out.tolist() == [55, 89]


@pytest.mark.parametrize(("start", "stop", "step"), [(0, 5, 1), (0, 5, 2), (-3, 3, 4), (5, 5, 1), (9, 2, 1)])
def test_loops_run_as_often_as_range(start: int, stop: int, step: int) -> None:
    bounds, out = np.array([start, stop, step]), np.array([-1])

    def body(f: Function) -> None:
        low, high, stride = (f.load(I64, f.offset(f.argument("a"), constant(I64, k), I64)) for k in range(3))
        with f.loop(low, high, stride, [constant(I64, 0)]) as each:
            each.advance(f.add(each.carried[0], constant(I64, 1)))
        f.store(each.results[0], f.argument("out"))

    run(body, out, bounds)
    assert out.tolist() == [len(range(start, stop, step))]


def test_constant_bounds_need_no_entry_test() -> None:
    def text(stop: int) -> str:
        def body(f: Function) -> None:
            with f.up_to(constant(I64, stop)):
                f.fence("seq_cst")

        return build(body)

    assert text(3).count("icmp") == 1
    assert text(0).count("icmp") == 2


def test_hand_written_loops_are_never_unrolled() -> None:
    def body(f: Function) -> None:
        with f.up_to(constant(I64, 3)):
            f.fence("seq_cst")

    assert "llvm.loop.unroll.disable" in build(body)


def test_when_and_switch() -> None:
    out = np.zeros(3, np.int64)

    def body(f: Function) -> None:
        key = f.load(I64, f.argument("a"))
        with f.when(f.icmp("sgt", key, constant(I64, 0))):
            f.store(constant(I64, 7), f.argument("out"))
        one, other, after = f.block("one"), f.block("other"), f.block("after")
        f.switch(key, other, {1: one})
        f.place(one)
        f.branch(after)
        f.place(other)
        f.branch(after)
        f.place(after)
        which = f.phi(I64)
        which.add(constant(I64, 11), one)
        which.add(constant(I64, 22), other)
        f.store(which, f.offset(f.argument("out"), constant(I64, 1), I64))

    for key, wanted in ((1, [7, 11, 0]), (5, [7, 22, 0]), (-1, [0, 22, 0])):
        out[:] = 0
        run(body, out, np.array([key]))
        assert out.tolist() == wanted


def test_masked_and_indexed_access_touch_selected_lanes_only() -> None:
    a, out = np.arange(5, dtype=np.float32), np.full(8, 9, np.float32)

    def body(f: Function) -> None:
        mask = f.lanes_below(constant(I32, 5), 8)
        loaded = f.masked_load(F8, f.argument("a"), mask, constant(F8, -1.0))
        order = integers(I64, [4, 3, 2, 1, 0, 1 << 40, 1 << 40, 1 << 40])
        gathered = f.gather(F8, f.address(f.argument("a"), order, FLOAT), mask, zero(F8))
        f.masked_store(f.fadd(loaded, gathered), f.argument("out"), mask)

    run(body, out, a)
    assert out.tolist() == [4, 4, 4, 4, 4, 9, 9, 9]


def test_scatter_writes_in_lane_order() -> None:
    out = np.zeros(2, np.float32)

    def body(f: Function) -> None:
        order = f.address(f.argument("out"), integers(I64, [0, 1, 0, 1]), FLOAT)
        f.scatter(f.load(vector(FLOAT, 4), f.argument("a")), order, constant(vector(I1, 4), 1))

    run(body, out, floats(1, 2, 3, 4))
    assert out.tolist() == [3, 4]


def test_reductions_and_lanes() -> None:
    out = np.zeros(5, np.float32)

    def body(f: Function) -> None:
        v = f.load(F8, f.argument("a"))
        results = [
            f.reduce_fadd(constant(FLOAT, 100.0), v),
            f.reduce_fadd_tree(v),
            f.reduce("fmaximum", v),
            f.lane(f.shuffle(v, None, [7, 6, 5, 4, 3, 2, 1, -1]), 0),
            f.extract_element(f.build([f.lane(v, 2), f.lane(v, 3)]), f.load(I64, f.argument("b"))),
        ]
        for k, value in enumerate(results):
            f.store(value, f.offset(f.argument("out"), constant(I64, k), FLOAT))

    run(body, out, np.arange(8, dtype=np.float32), np.array([1]))
    assert out.tolist() == [128, 28, 7, 7, 3]


def test_ordered_sums_are_ordered() -> None:
    out, a = np.zeros(1, np.float32), floats(1e8, 1, -1e8, 1, 0, 0, 0, 0)
    run(lambda f: f.store(f.reduce_fadd(constant(FLOAT, 0.0), f.load(F8, f.argument("a"))), f.argument("out")), out, a)
    assert out[0] == ((np.float32(1e8) + np.float32(1)) - np.float32(1e8)) + np.float32(1)


CASTS: list[tuple[str, Callable[[Function], None], list[int]]] = [
    ("saturating", lambda f: f.store(f.fptosi_saturating(constant(FLOAT, 300.0), I8), f.argument("out")), [127]),
    ("nan is 0", lambda f: f.store(f.fptoui_saturating(constant(FLOAT, float("nan")), I8), f.argument("out")), [0]),
    ("below 0", lambda f: f.store(f.fptoui_saturating(constant(FLOAT, -5.0), I8), f.argument("out")), [0]),
    ("abs", lambda f: f.store(f.integer_abs(constant(I8, -128)), f.argument("out")), [-128]),
    ("umin", lambda f: f.store(f.integer_binary("umin", constant(I8, -1), constant(I8, 3)), f.argument("out")), [3]),
    ("class", lambda f: f.store(f.zext(f.is_fp_class(constant(FLOAT, float("inf")), 516), I8), f.argument("out")), [1]),
    ("trunc", lambda f: f.store(f.trunc(constant(I32, 258), I8), f.argument("out")), [2]),
]


@pytest.mark.parametrize(("name", "body", "wanted"), CASTS, ids=[case[0] for case in CASTS])
def test_scalar_results(name: str, body: Callable[[Function], None], wanted: list[int]) -> None:
    out = np.zeros(1, np.int8)
    run(body, out)
    assert out.tolist() == wanted


def test_fma_rounds_once_and_multiply_add_twice() -> None:
    a, out = floats(1 + 2**-12, 1 + 2**-12, -1 - 2**-11), np.zeros(2, np.float32)

    def body(f: Function) -> None:
        x, y, z = (f.load(FLOAT, f.offset(f.argument("a"), constant(I64, k), FLOAT)) for k in range(3))
        f.store(f.fma(x, y, z), f.argument("out"))
        f.store(f.fadd(f.fmul(x, y), z), f.offset(f.argument("out"), constant(I64, 1), FLOAT))

    run(body, out, a)
    assert out.tolist() == [2.0**-24, 0.0]


def test_atomics() -> None:
    out = np.array([5, 0, 0])

    def body(f: Function) -> None:
        where = f.argument("out")
        f.atomicrmw("add", where, constant(I64, 3), "monotonic")
        old, swapped = f.cmpxchg(where, constant(I64, 8), constant(I64, 9), "acq_rel", "monotonic")
        f.store(old, f.offset(where, constant(I64, 1), I64))
        f.store_atomic(f.zext(swapped, I64), f.offset(where, constant(I64, 2), I64), "release")
        f.fence("seq_cst")

    run(body, out)
    assert out.tolist() == [9, 8, 1]


def test_internal_functions_pointers_globals_and_blocks_of_bytes() -> None:
    module = Module()
    table = module.table("table", vector(I32, 2), "<i32 3, i32 4>")
    g = module.function("second", [Parameter("p", PTR, ("nonnull",))], I32, linkage=INTERNAL, attributes=("noinline",))
    g.ret(g.load(I32, g.offset(g.argument("p"), constant(I64, 1), I32)))
    f = module.function("kernel", [Parameter(name, PTR) for name in ("out", "a", "b")])
    slot = f.alloca(PTR, 1)
    f.store(g.pointer, slot)
    f.store(f.call(I32, f.load(PTR, slot), [table]), f.argument("out"), metadata=NONTEMPORAL)
    f.copy_bytes(f.byte_offset(f.argument("out"), 4), table, constant(I64, 8))
    f.prefetch(table)
    f.ret()
    text = module.text()
    assert "define internal i32 @second(ptr nonnull %p)" in text
    assert "noinline" in text
    assert "!nontemporal" in text
    compile_object(text)


@pytest.mark.parametrize("target", [X86_64_V3, X86_64_V4, NEOVERSE_N1, APPLE_M1], ids=lambda target: target.cpu)
def test_the_same_text_becomes_vector_code_on_every_target(target: object) -> None:
    def body(f: Function) -> None:
        a, b = f.load(F8, f.argument("a")), f.load(F8, f.argument("b"))
        f.store(f.fma(a, b, f.float_unary("sqrt", a)), f.argument("out"))

    code = assembly(build(body), target)  # type: ignore[arg-type]
    assert "vfmadd" in code or "fmla" in code
    assert "call" not in code.replace("callee", "")


MISUSES: list[Callable[[Function], object]] = [
    lambda f: f.add(constant(I32, 1), constant(I64, 1)),
    lambda f: f.fadd(constant(I32, 1), constant(I32, 1)),
    lambda f: f.fadd(constant(FLOAT, 1), constant(FLOAT, 1), frozenset({"contract"})),
    lambda f: f.fadd(constant(FLOAT, 1), constant(FLOAT, 1), frozenset({"fast"})),
    lambda f: f.fadd(constant(FLOAT, 1), constant(FLOAT, 1), NSW),
    lambda f: f.add(constant(I32, 1), constant(I32, 1), REASSOCIATE),
    lambda f: f.fneg(constant(I32, 1)),
    lambda f: f.icmp("eq", constant(FLOAT, 1), constant(FLOAT, 1)),
    lambda f: f.fcmp("oeq", constant(I32, 1), constant(I32, 1)),
    lambda f: f.select(constant(M8, 1), constant(FLOAT, 1), constant(FLOAT, 1)),
    lambda f: f.trunc(constant(FLOAT, 1), I8),
    lambda f: f.fpext(constant(vector(HALF, 4), 1), vector(FLOAT, 8)),
    lambda f: f.bitcast(constant(I32, 1), DOUBLE),
    lambda f: f.fma(constant(FLOAT, 1), constant(FLOAT, 1), constant(DOUBLE, 1)),
    lambda f: f.float_unary("exp", constant(FLOAT, 1)),
    lambda f: f.float_binary("maximum", constant(FLOAT, 1), constant(DOUBLE, 1)),
    lambda f: f.integer_binary("smax", constant(FLOAT, 1), constant(FLOAT, 1)),
    lambda f: f.reduce("fadd", constant(F8, 1)),
    lambda f: f.masked_load(F8, NULL, constant(vector(I1, 4), 1), zero(F8)),
    lambda f: f.masked_store(constant(FLOAT, 1), NULL, constant(M8, 1)),
    lambda f: f.offset(constant(I64, 1), constant(I64, 1), FLOAT),
    lambda f: f.insert_element(zero(F8), constant(DOUBLE, 1), constant(I64, 0)),
    lambda f: f.extract_element(constant(FLOAT, 1), constant(I64, 0)),
    lambda f: f.shuffle(constant(FLOAT, 1), None, [0]),
    lambda f: f.lanes_below(constant(I64, 1), 8),
    lambda f: f.branch_if(constant(I32, 1), f.block("a"), f.block("b")),
    lambda f: (f.ret(), f.fence("seq_cst")),
    lambda f: f.phi(I32).add(constant(I64, 1), f.current),
    lambda f: f.module.function("kernel", []) if isinstance(f.module, Module) else None,
]


@pytest.mark.parametrize("number", range(len(MISUSES)))
def test_ill_formed_instructions_are_refused_where_they_are_made(number: int) -> None:
    with pytest.raises(InternalError, match="TW910"):
        build(lambda f: (MISUSES[number](f), None)[1])


def test_a_block_without_terminator_and_a_wrong_advance_are_refused() -> None:
    module = Module()
    module.function("f", [])
    with pytest.raises(InternalError, match="no terminator"):
        module.text()
    f = Module().function("f", [])
    with pytest.raises(InternalError, match="carries 0 values"), f.up_to(constant(I64, 3)) as each:
        each.advance(constant(I64, 1))


def test_flags_are_spelled_where_given_and_nowhere_else() -> None:
    f = Module().function("f", [Parameter("x", I16)])
    x = f.argument("x")
    f.add(x, x)
    f.add(x, x, NO_WRAP)
    f.select(constant(I1, 1), x, poison(I16))
    f.call_external(VOID, "sched_yield", [])
    f.ret()
    lines = f.body_lines()
    assert "  %v1 = add i16 %x, %x" in lines
    assert "  %v2 = add nsw nuw i16 %x, %x" in lines
    assert L8.size_bytes == 64
