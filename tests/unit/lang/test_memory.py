"""Manual memory: its state is carried like a variable, and its layout is proved."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from tests.unit.lang.shapes import only
from tilewright import tile
from tilewright.core.errors import CaptureError, KernelError, TileTypeError
from tilewright.interp import run
from tilewright.ir.ops.memory import MemoryAllocOp
from tilewright.ir.ops.regions import PipelineOp, SerialOp
from tilewright.ir.types import MemoryStateType
from tilewright.lang.kernel import KernelDefinition
from tilewright.tile import (
    ConstView2,
    View1,
    View2,
    axis,
    cdiv,
    coord,
    f32,
    layout,
    memory,
    mma,
    parallel,
    shape,
    tensor_shape,
    zeros,
)  # fmt: skip


@tile.kernel
def staged_gemm(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], *, bm: int = 3, bn: int = 5, bk: int = 7):
    (M, K), N = A.shape, B.shape[1]
    gm, gn, gk = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn)), axis("gk", cdiv(K, bk))
    m, n, k = axis("m", bm), axis("n", bn), axis("k", bk)
    for nest in parallel(shape(gm, gn)):
        m0, n0 = nest.index(gm) * bm, nest.index(gn) * bn
        left = memory(f32, layout(shape(m, k), strides=(bk + 1, 1)), "private")
        right = memory(f32, layout(shape(k, n), strides=(1, bk)))
        acc = zeros(f32, shape(m, n))
        for step in nest.pipeline(shape(gk), window=2):
            k0 = step.index() * bk
            step.stage("load")
            left.store(A[coord(m0, k0), shape(m, k)])
            right.store(B[coord(k0, n0), shape(k, n)])
            step.stage("compute")
            acc = mma(left.load(), right.load(), acc)
        C.at(coord(m0, n0), shape(m, n)).store(acc)


def test_a_product_through_memory_carries_two_states_after_its_accumulator() -> None:
    kernel = staged_gemm.capture(tensor_shape(7, 11), tensor_shape(11, 13), tensor_shape(7, 13))
    loop = only(kernel, PipelineOp)
    assert [isinstance(carry.type, MemoryStateType) for carry in loop.carries] == [False, True, True]
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((7, 11)).astype("f4"), rng.standard_normal((11, 13)).astype("f4")
    C = np.full((7, 13), np.nan, "f4")
    run(kernel, [A, B, C])
    assert np.allclose(C, A @ B, atol=1e-5)


def test_a_memory_that_is_only_read_is_not_carried() -> None:
    @tile.kernel
    def reading(C: View1[f32]):
        m = axis("m", 4)
        for nest in parallel(shape(axis("g", 1))):
            kept = memory(f32, shape(m))
            kept.store(zeros(f32, shape(m)) + 2.0)
            for step in nest.serial(shape(axis("k", 4))):
                C[step.index()].store(kept.load().at(coord(step.index())))

    kernel = reading.capture(tensor_shape(4))
    assert len(only(kernel, SerialOp).carries) == 0
    out = np.zeros(4, "f4")
    run(kernel, [out])
    assert out.tolist() == [2.0] * 4


def test_a_child_parallel_may_read_what_its_parent_keeps() -> None:
    @tile.kernel
    def shared(C: View1[f32]):
        m = axis("m", 4)
        for nest in parallel(shape(axis("g", 1))):
            kept = memory(f32, shape(m))
            kept.store(zeros(f32, shape(m)))
            for inner in nest.parallel(shape(m)):
                C[inner.index()].store(kept.load().at(inner))

    shared.capture(tensor_shape(4))


def test_resource_and_layout_are_on_the_allocation() -> None:
    kernel = staged_gemm.capture(tensor_shape(7, 11), tensor_shape(11, 13), tensor_shape(7, 13))
    left, right = (op for op in kernel.module.walk() if isinstance(op, MemoryAllocOp))
    assert left.resource is not None
    assert left.resource.data == "private"
    assert right.resource is None
    assert left.layout is not None


Make = Callable[[Any, Any, Any], object]


def coded(*each: tuple[Make, str]) -> list[tuple[Make, str]]:
    """The cases of a parametrised test, typed, with the error of each."""
    return list(each)


def alone(make: Make) -> KernelDefinition:
    @tile.kernel
    def one(C: View1[f32]):
        for nest in parallel(shape(axis("g", 1))):
            make(nest, axis("m", 4), axis("n", 4))

    return one


@pytest.mark.parametrize(
    ("make", "code"),
    coded(
        (lambda nest, m, n: memory(f32, shape(m)).store(zeros(f32, shape(n))), "TW216"),
        (lambda nest, m, n: memory(f32, shape(m)).store(zeros(tile.f16, shape(m))), "TW205"),
        (lambda nest, m, n: memory(f32, cast(Any, 4)), "TW207"),
        (lambda nest, m, n: cast(Any, zeros(f32, shape(m))) + memory(f32, shape(m)), "TW117"),
        (lambda nest, m, n: memory(f32, shape(m)).load(), "TW353"),
        (lambda nest, m, n: layout(shape(m, n), strides=(1, 1)), "TW281"),
        (lambda nest, m, n: layout(shape(m, n), strides=(4,)), "TW281"),
    ),
)
def test_misuse_is_refused(make: Make, code: str) -> None:
    with pytest.raises(KernelError, match=code):
        alone(make).capture(tensor_shape(4))


def test_a_layout_that_folds_two_elements_into_one_cell_names_them() -> None:
    def make(nest: object, m: tile.Axis, n: tile.Axis) -> None:
        layout(shape(m, n), strides=(1, 1))

    with pytest.raises(TileTypeError, match="inject") as caught:
        alone(make).capture(tensor_shape(4))
    assert "(0, 1)" in str(caught.value)
    assert "(1, 0)" in str(caught.value)


def test_a_memory_ends_with_its_region() -> None:
    @tile.kernel
    def ending(C: View1[f32]):
        m = axis("m", 4)
        kept: list[tile.Memory] = []
        for nest in parallel(shape(axis("g", 1))):
            for _ in nest.serial(shape(axis("k", 2))):
                made = memory(f32, shape(m))
                kept.append(made)
            kept[0].store(zeros(f32, shape(m)))

    with pytest.raises(CaptureError, match="TW103"):
        ending.capture(tensor_shape(4))
