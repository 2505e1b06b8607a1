"""Structure that the export keeps, read from the TIRx and from the LLVM made of it."""

import re

import numpy as np
import pytest

from tests.unit.bridge.tirx.building import captured, compiled, shared
from tilewright import tile
from tilewright.bridge.tirx import SharedSSA, TirxOptions, compile, lower
from tilewright.interp.run import run as interpret
from tilewright.tile import (
    ConstView1,
    ConstView2,
    View1,
    View2,
    axis,
    cdiv,
    coord,
    f32,
    full,
    i64,
    mma,
    parallel,
    shape,
    tensor_shape,
    zeros,
)

CHEAP = TirxOptions(shared_ssa=SharedSSA.EXPENSIVE_ONLY)


def calls(text: str, symbol: str) -> int:
    return len(re.findall(rf"\b{symbol}\b", text))


@pytest.mark.parametrize("options", [TirxOptions(), CHEAP])
def test_a_shared_exp_is_computed_once(options: TirxOptions) -> None:
    assert calls(lower(shared.capture(*captured(9)), options).text(), "expf") == 1


@pytest.mark.parametrize(("options", "times"), [(TirxOptions(), 1), (CHEAP, 2)])
def test_cheap_arithmetic_is_cloned_only_where_asked(options: TirxOptions, times: int) -> None:
    text = lower(shared.capture(*captured(9), expensive=False), options).text()
    assert len(re.findall(r" - T\.float32\(1\.0\)", text)) == times


def test_without_tvm_options_nothing_is_shared_that_has_one_reader() -> None:
    @tile.kernel
    def chain(X: ConstView1[f32], Y: View1[f32]):
        e = axis("e", X.shape[0])
        for _ in parallel(shape(1)):
            Y.at(coord(0), shape(e)).store((X[coord(0), shape(e)] + 1.0) - 2.0)

    assert lower(chain.capture(*captured(9))).text().count("alloc_local") == 1  # the snapshot


@tile.kernel
def blocked(X: ConstView1[f32], Y: View1[f32], *, first: int = 0):
    e = axis("e", 16)
    for nest in parallel(shape(cdiv(X.shape[0], 16))):
        at = coord(nest.index() * 16 + first)
        Y.at(coord(nest.index() * 16), shape(e)).store(X[at, shape(e)])


@pytest.mark.parametrize(("extent", "first", "guards"), [(64, 0, 0), (63, 0, 2), (64, 1, 1), (64, -1, 1)])
def test_guards_vanish_only_by_proof(extent: int, first: int, guards: int) -> None:
    kernel = blocked.capture(*captured(extent), first=first)
    assert lower(kernel).plan.counters["guards"] == guards
    x, y = np.arange(extent, dtype="f4"), np.full(extent, np.nan, "f4")
    compile(kernel)(x, y)
    places = np.arange(extent) + first
    inside = (places >= 0) & (places < extent)
    assert (y == np.where(inside, x[places.clip(0, extent - 1)], 0)).all()


@tile.kernel
def product(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], *, window: int = 2):
    m, n, k = axis("m", A.shape[0]), axis("n", B.shape[1]), axis("k", 4)
    for nest in parallel(shape(1)):
        acc = zeros(f32, shape(m, n))
        for step in nest.pipeline(shape(cdiv(A.shape[1], 4)), window=window):
            step.stage("load")
            a, b = A[coord(0, step.index() * 4), shape(m, k)], B[coord(step.index() * 4, 0), shape(k, n)]
            step.stage("compute")
            acc = mma(a, b, acc, reassociate=False)
        C.at(coord(0, 0), shape(m, n)).store(acc)


@tile.kernel
def grown(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], D: View2[f32], *, way: str):
    """A sum that a loop carries: alone, read elsewhere before it grows, in the place of another, or not always."""
    m, n, k = axis("m", 4), axis("n", 16), axis("k", 4)
    for nest in parallel(shape(1)):
        first, second = zeros(f32, shape(m, n)), full(f32, shape(m, n), 1.0)
        for step in nest.serial(shape(3)):
            at = step.index() * 4
            a, b = A[coord(0, at), shape(m, k)], B[coord(at, 0), shape(k, n)]
            if way == "read":
                D.at(coord(0, 0), shape(m, n)).store(first)
            if way == "exchanged":
                first, second = second, mma(a, b, first, reassociate=False)
            elif way == "not always":
                if step.index() < 2:
                    first = mma(a, b, first, reassociate=False)
            else:
                first = mma(a, b, first, reassociate=False)
        C.at(coord(0, 0), shape(m, n)).store(first + second)


@pytest.mark.parametrize(
    ("way", "in_place"), [("alone", True), ("read", False), ("exchanged", False), ("not always", False)]
)
def test_a_carried_sum_grows_where_it_lies_if_nobody_else_reads_it(way: str, in_place: bool) -> None:
    kernel = grown.capture(tensor_shape(4, 12), tensor_shape(12, 16), *[tensor_shape(4, 16)] * 2, way=way)
    found = compile(kernel)
    lines = found.lowered.text().splitlines()
    nest = next(number for number, line in enumerate(lines) if "tile.mma" in line)
    assert ("llvm.fma" in lines[nest + 2]) == in_place  # or else a copy of the sum stands before the steps
    a, b = (np.random.default_rng(seed).standard_normal(s).astype("f4") for seed, s in ((1, (4, 12)), (2, (12, 16))))
    want, got = ([a, b, *np.zeros((2, 4, 16), "f4")] for _ in range(2))
    interpret(kernel, want)
    found(*got)
    assert all(x.tobytes() == y.tobytes() for x, y in zip(want, got, strict=True))


def test_the_notes_say_what_each_loop_is() -> None:
    text = lower(product.capture(tensor_shape(3, 8), tensor_shape(8, 5), tensor_shape(3, 5))).text()
    assert '"tile.parallel": 1' in text
    assert '"tile.interval": 1, "tile.pipeline": 1, "tile.window": 2' in text
    assert '"tile.independent": 2, "tile.mma": 1' in text
    assert [text.index(f'"tile.stage", "{label}"') for label in ("load", "compute")] == sorted(
        text.index(f'"tile.stage", "{label}"') for label in ("load", "compute")
    )


def test_no_note_reaches_the_code_and_products_are_fused_in_order() -> None:
    source = compiled(product.capture(tensor_shape(3, 8), tensor_shape(8, 5), tensor_shape(3, 5))).source
    assert "tile." not in source
    assert "@llvm.fma" in source
    assert not re.search(r"= f(mul|add) ", source)


@tile.kernel
def scaled(X: ConstView1[f32], Y: View1[f32], *, added: bool):
    e = axis("e", X.shape[0])
    for _ in parallel(shape(1)):
        x = X[coord(0), shape(e)]
        Y.at(coord(0), shape(e)).store(x * 3.0 + 1.0 if added else x * 3.0)


@pytest.mark.parametrize("added", [True, False])
def test_a_product_is_fenced_where_a_sum_may_meet_it(added: bool) -> None:
    found = compiled(scaled.capture(*captured(33), added=added))
    assert ("llvm.arithmetic.fence" in found.source) == added
    x, y = np.linspace(0.1, 7.7, 33, dtype="f4"), np.zeros(33, "f4")
    found(x, y)
    assert (y == (x * np.float32(3) + np.float32(1) if added else x * np.float32(3))).all()


def test_every_yielded_value_is_read_before_any_is_written() -> None:
    @tile.kernel
    def swapped(X: ConstView1[f32], Y: View1[f32], Z: View1[f32]):
        e = axis("e", X.shape[0])
        for nest in parallel(shape(1)):
            a = X[coord(0), shape(e)]
            b = a + 1.0
            for _ in nest.serial(shape(3)):
                a, b = b, a
            Y.at(coord(0), shape(e)).store(a)
            Z.at(coord(0), shape(e)).store(b)

    found = compile(swapped.capture(*[tensor_shape(5)] * 3))
    assert found.lowered.plan.counters["snapshots of carried tiles"] == 2
    x, y, z = np.arange(5, dtype="f4"), np.zeros(5, "f4"), np.zeros(5, "f4")
    found(x, y, z)
    assert (y == x + 1).all()
    assert (z == x).all()


def test_chains_of_shared_values_compile_in_linear_time() -> None:
    """TVM puts bound values into each other, so a chain like this one must not be one of names."""

    @tile.kernel
    def doubled(X: ConstView1[i64], Y: View1[i64]):
        for nest in parallel(shape(X.shape[0])):
            value = X[nest.index()].load()
            for _ in range(40):
                value = (value + value) - 1
            Y[nest.index()].store(value)

    x, y = np.arange(3), np.zeros(3, "i8")
    compile(doubled.capture(*[tensor_shape(3, dtype=i64)] * 2))(x, y)
    assert (y == (x - 1) * 2**40 + 1).all()


def test_alignment_is_promised_of_elements_only() -> None:
    """TVM's own default is 64 bytes, which NumPy's arrays do not have."""
    text = lower(scaled.capture(*captured(33), added=False)).text()
    assert text.count('T.Buffer((T.int64(33),), "float32", align=4)') == 2
    assert set(re.findall(r"align=(\d+)", text)) == {"4"}
