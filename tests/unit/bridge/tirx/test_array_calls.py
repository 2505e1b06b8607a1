"""Functions of whole arrays: what is proved becomes one call, and a note alone moves nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.unit.bridge.tirx.building import captured, shared
from tilewright import tile
from tilewright.backends.simd.tirx_functions import register_functions
from tilewright.bridge.tirx import Compiled, CpuMathBackend, TirxOptions, TirxPlanner, compile, lower
from tilewright.bridge.tirx.door import open_door
from tilewright.bridge.tirx.export.kernel import export
from tilewright.bridge.tirx.nodes import Nodes
from tilewright.bridge.tirx.providers.array_calls import ArrayCalls
from tilewright.bridge.tirx.providers.choices import VECTOR
from tilewright.bridge.tirx.sharing import SharedSSA, sharing_of
from tilewright.ir.kernel import Kernel
from tilewright.tile import (
    ConstView1,
    ConstView2,
    Policy,
    View1,
    View2,
    add,
    axis,
    coord,
    exp,
    f32,
    maximum,
    minimum,
    parallel,
    reduce,
    shape,
    tensor_shape,
)

VECTORS = TirxOptions(
    cpu_math_backend=CpuMathBackend.VECTOR, planner=TirxPlanner(max_cpu_stack_bytes=65536, min_cpu_parallel_tasks=4)
)
EXP, ADD, MAX, MIN = VECTOR.exp, VECTOR.folds["add"], VECTOR.folds["max"], VECTOR.folds["min"]
COLUMNS = 200


@pytest.fixture(autouse=True)
def registered() -> None:
    register_functions(open_door(), VECTORS)


@tile.kernel
def softmax(X: ConstView2[f32], Y: View2[f32]):
    r, c = axis("r", 1), axis("c", X.shape[1])
    for nest in parallel(shape(X.shape[0])):
        here = coord(nest.index(), 0)
        v = X[here, shape(r, c)]
        e = exp(v - reduce(v, c, maximum))
        Y.at(here, shape(r, c)).store(e / reduce(e, c, add))


def rows(count: int = 3, columns: int = COLUMNS) -> Kernel:
    return softmax.capture(*[tensor_shape(count, columns)] * 2)


def numbers(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape, "f4") * 4


def calls(found: Compiled) -> dict[str, int]:
    """Call sites by name in the LLVM; the names that follow a handle are those of TVM's registry."""
    text = str(found.lowered.module)
    sites = {name: text.count(f'call_packed("{name}"') for name in (EXP, ADD, MAX, MIN)}
    in_llvm = {name for name in sites if f'c"{name}\\00"' in found.source}
    assert in_llvm == {name for name, count in sites.items() if count}
    return {name: count for name, count in sites.items() if count}


@pytest.mark.parametrize("columns", [1, 15, 16, 17, COLUMNS, 1024])
def test_softmax_calls_each_function_once(columns: int) -> None:
    found = compile(rows(columns=columns), VECTORS)
    folds = {ADD: 1, MAX: 1} if columns > 1 else {}
    assert calls(found).items() >= {EXP: 1, **folds}.items()
    assert "expf" not in found.source
    assert "AllocWorkspace" not in found.source  # the functions forget what they were given
    x, y = numbers(3, columns), np.zeros((3, columns), "f4")
    found(x, y)
    weights = np.exp(x.astype("f8") - x.max(1, keepdims=True))
    exact = weights / weights.sum(1, keepdims=True)
    # exp within 1 ulp of an argument with a half of one, a sum of chains, and a division
    argument = np.abs(x.astype("f8") - x.max(1, keepdims=True))
    assert (np.abs(y - exact) <= exact * (argument + columns / 16 + 8) * 2.0**-24 + 1e-45).all()


def test_without_the_option_nothing_is_called() -> None:
    found = compile(rows())
    assert calls(found) == {}
    assert "expf" in found.source


@tile.kernel
def folded(X: ConstView2[f32], Y: View1[f32], *, which: Any, policy: Policy = Policy.UNORDERED_TREE):
    r, c = axis("r", 1), axis("c", X.shape[1])
    for _ in parallel(shape(1)):
        Y.at(coord(0), shape(r)).store(reduce(X[coord(0, 0), shape(r, c)], c, which, policy=policy))


FOLDS: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "add": (add, ADD, np.sum),
    "max": (maximum, MAX, np.max),
    "min": (minimum, MIN, np.min),
}


def fold(name: str, extent: int = 77, **options: Any) -> Kernel:
    return folded.capture(tensor_shape(1, extent), tensor_shape(1), which=FOLDS[name][0], **options)


@pytest.mark.parametrize("extent", [2, 63, 64, 65, 1000])
@pytest.mark.parametrize("name", FOLDS)
def test_a_fold_is_one_call(name: str, extent: int) -> None:
    found = compile(fold(name, extent), VECTORS)
    _, symbol, exact = FOLDS[name]
    assert calls(found) == {symbol: 1}
    x, y = numbers(1, extent), np.zeros(1, "f4")
    found(x, y)
    if name == "add":
        assert abs(y[0] - exact(x.astype("f8"))) <= extent * 2.0**-24 * np.abs(x).sum()
    else:
        assert y[0] == exact(x)
    x[0, extent // 2] = np.nan
    found(x, y)
    assert np.isnan(y[0])


def test_a_fold_that_keeps_its_order_stays() -> None:
    found = compile(fold("add", policy=Policy.FOLD_LEFT), VECTORS)
    assert calls(found) == {}
    assert "no part of the kernel is proved" in found.render()
    assert "provider declined: no part of the kernel is proved to be a function of a whole array" in found.refusals


def test_an_exp_that_nobody_shares_stays() -> None:
    @tile.kernel
    def single(X: ConstView1[f32], Y: View1[f32]):
        e = axis("e", X.shape[0])
        for _ in parallel(shape(1)):
            Y.at(coord(0), shape(e)).store(exp(X[coord(0), shape(e)]))

    assert calls(compile(single.capture(*captured(40)), VECTORS)) == {}


def test_an_exp_of_another_type_stays() -> None:
    @tile.kernel
    def wide(X: ConstView1[tile.f64], Y: View1[tile.f64]):
        e = axis("e", X.shape[0])
        for _ in parallel(shape(1)):
            y = exp(X[coord(0), shape(e)])
            Y.at(coord(0), shape(e)).store(y * y)

    assert calls(compile(wide.capture(*captured(40)), VECTORS)) == {}


def test_a_shared_exp_of_scalars_and_edges_is_what_native_kernels_compute() -> None:
    found = compile(shared.capture(*captured(40)), VECTORS)
    assert calls(found) == {EXP: 1}
    x, y = numbers(40), np.zeros(40, "f4")
    x[:4] = np.nan, np.inf, -np.inf, 0
    found(x, y)
    exact = np.exp(2 * x.astype("f8"))
    assert np.isnan(y[0])
    assert y[1:4].tolist() == [np.inf, 0, 1]
    assert np.allclose(y[4:], exact[4:], rtol=4 * 2.0**-23, atol=0)


def test_metadata_says_who_is_called_and_what_the_numbers_are() -> None:
    lines = lower(rows(), VECTORS).plan.render().splitlines()
    assert lines[-3:] == [
        f"provider {ADD}: 1 call sites, summed in another order",
        f"provider {EXP}: 1 call sites, within 1 ulp",
        f"provider {MAX}: 1 call sites, the same number, a NaN if there is one",
    ]


def test_sums_of_few_rows_are_not_worth_a_launch() -> None:
    @tile.kernel
    def sums(X: ConstView2[f32], Y: View1[f32]):
        r, c = axis("r", 1), axis("c", X.shape[1])
        for nest in parallel(shape(X.shape[0])):
            Y.at(coord(nest.index()), shape(r)).store(reduce(X[coord(nest.index(), 0), shape(r, c)], c, add))

    few, many = (lower(sums.capture(tensor_shape(n, 64), tensor_shape(n)), VECTORS) for n in (3, 4))
    assert few.plan.calls == {ADD: 1}
    assert (few.plan.launches, many.plan.launches) == (0, 1)
    assert lower(rows(3), VECTORS).plan.launches == 1  # exp is worth it


# ---- notes that nobody stands behind


def exported(kernel: Kernel) -> Any:
    return export(kernel, Nodes(open_door()), sharing_of(kernel, SharedSSA.PRESERVE), {}).function


def outcome(function: Any) -> tuple[bool, list[str]]:
    """Whether the statements stay, and the reasons."""
    walk = ArrayCalls(open_door(), VECTOR)
    body = walk.statement(function.body)
    same = bool(open_door().ffi.structural_equal(body, function.body))
    assert same == (not walk.sites)
    return same, sorted(walk.declined)


def changed(function: Any, kind: Any, change: Callable[[Any], Any]) -> Any:
    return function.with_body(open_door().ffi.structural_map(function.body, (kind, change)))


def noted(function: Any, old: str, new: dict[str, str]) -> Any:
    """The note `old` replaced on every loop that has it."""
    t = open_door().tirx

    def change(loop: Any) -> Any:
        if old not in loop.annotations:
            return loop
        notes = {**{k: v for k, v in dict(loop.annotations).items() if str(k) != old}, **new}
        return t.For(loop.loop_var, loop.min, loop.extent, loop.kind, loop.body, annotations=notes)

    return changed(function, t.For, change)


def test_a_note_on_what_was_proved_is_followed() -> None:
    assert outcome(exported(fold("add"))) == (False, [])
    assert outcome(exported(shared.capture(*captured(9)))) == (False, [])


@pytest.mark.parametrize("name", FOLDS)
def test_a_fold_of_another_kind_is_seen(name: str) -> None:
    for other in set(FOLDS) - {name}:
        forged = noted(exported(fold(name)), "tile.fold", {"tile.fold": f"{other}/1"})
        assert outcome(forged) == (True, [f"{other}: the fold does not begin at its identity"])


def test_a_step_of_another_operation_is_seen() -> None:
    t = open_door().tirx
    forged = changed(exported(fold("add")), t.Add, lambda e: t.Sub(e.a, e.b) if str(e.ty) == "float32" else e)
    assert outcome(forged) == (True, ["add: the step is another operation"])


@pytest.mark.parametrize(("note", "value"), [("tile.fold", "add/2"), ("tile.map", "exp/2"), ("tile.map", "log/1")])
def test_a_version_that_is_not_known_is_seen(note: str, value: str) -> None:
    function = exported(fold("add") if note == "tile.fold" else shared.capture(*captured(9)))
    assert outcome(noted(function, note, {note: value})) == (True, [f"the contract {value} is not known"])


def test_a_start_that_is_no_identity_is_seen() -> None:
    t = open_door().tirx

    def change(store: Any) -> Any:
        is_start = isinstance(store.value, t.FloatImm)
        return t.BufferStore(store.buffer, t.FloatImm("float32", 1.0), store.indices) if is_start else store

    forged = changed(exported(fold("add")), t.BufferStore, change)
    assert outcome(forged) == (True, ["add: the fold does not begin at its identity"])


def test_elements_that_lie_apart_are_seen() -> None:
    t = open_door().tirx

    def change(load: Any) -> Any:
        wide = int(load.source.shape[0].value) == 77 and len(load.indices) == 1 and str(load.source.scope()) == "local"
        return t.BufferLoad(load.source, [t.Mul(load.indices[0], t.IntImm("int64", 2))]) if wide else load

    forged = changed(exported(fold("add")), open_door().tvm.ir.TensorLoad, change)
    assert outcome(forged) == (True, ["add: the elements do not lie one after the other"])


def test_a_map_of_another_function_is_seen() -> None:
    plain = exported(shared.capture(*captured(9), expensive=False))
    forged = noted(plain, "tile.materialized", {"tile.map": "exp/1"})
    assert outcome(forged) == (True, ["exp: what is stored is no exp"])


def test_a_map_that_stores_elsewhere_is_seen() -> None:
    t = open_door().tirx

    def change(store: Any) -> Any:
        if not isinstance(store.value, open_door().tvm.ir.Call):
            return store
        return t.BufferStore(store.buffer, store.value, [t.Sub(t.IntImm("int64", 8), store.indices[0])])

    forged = changed(exported(shared.capture(*captured(9))), t.BufferStore, change)
    assert outcome(forged) == (True, ["exp: elements are not stored one after the other"])


def test_a_map_that_reads_its_result_is_seen() -> None:
    t, n = open_door().tirx, Nodes(open_door())

    def change(store: Any) -> Any:
        if not isinstance(store.value, open_door().tvm.ir.Call):
            return store
        return t.BufferStore(store.buffer, n.call("expf", n.load(store.buffer, [n.i64(0)])), store.indices)

    forged = changed(exported(shared.capture(*captured(9))), t.BufferStore, change)
    assert outcome(forged) == (True, ["exp: the argument reads the result"])


def test_a_map_of_a_part_of_its_buffer_is_seen() -> None:
    t, n = open_door().tirx, Nodes(open_door())

    def change(loop: Any) -> Any:
        if "tile.map" not in loop.annotations:
            return loop
        return t.For(loop.loop_var, loop.min, n.i64(8), loop.kind, loop.body, annotations=dict(loop.annotations))

    forged = changed(exported(shared.capture(*captured(9))), t.For, change)
    assert outcome(forged) == (True, ["exp: the buffer is not as large as the loops"])
