"""A whole product as one call of CBLAS: what is proved, what is refused, and that a contract alone moves nothing."""

from typing import Any

import numpy as np
import pytest

from tests.differential.gallery.kernels import product_onto
from tilewright import tile
from tilewright.backends.simd.tirx_functions import register_functions
from tilewright.bridge.tirx import CpuMatrixBackend, TirxOptions, compile, lower
from tilewright.bridge.tirx.door import open_door
from tilewright.bridge.tirx.export.kernel import export
from tilewright.bridge.tirx.nodes import Nodes
from tilewright.bridge.tirx.providers.choices import CBLAS_MATMUL
from tilewright.bridge.tirx.providers.matrix import call_for, with_contract
from tilewright.bridge.tirx.providers.product import NoProduct, WholeProduct, product_of
from tilewright.bridge.tirx.sharing import SharedSSA, sharing_of
from tilewright.core.errors import PlanError
from tilewright.ir.kernel import Kernel
from tilewright.tile import (
    ConstView2,
    View2,
    axis,
    coord,
    f32,
    f64,
    mma,
    parallel,
    shape,
    tensor_shape,
    zeros,
)

CBLAS = TirxOptions(noalias=True, cpu_matrix_backend=CpuMatrixBackend.CBLAS)
M, K, N = 9, 5, 63


def blocked(m: int = M, k: int = K, n: int = N, **options: Any) -> Kernel:
    chosen: dict[str, Any] = {"start": 0.0, "bm": 4, "bn": 16, "bk": 2, **options}
    return product_onto.capture(tensor_shape(m, k), tensor_shape(k, n), tensor_shape(m, n), **chosen)


@tile.kernel
def whole(
    A: ConstView2, B: ConstView2, C: View2,
    *, dtype: Any = f32, swapped: bool = False, scale: float = 1.0, ordered: bool = False, shift: int = 0,
    twice: bool = False,
):  # fmt: skip
    """C = A B in one tile, or something near it."""
    m, n, k = axis("m", C.shape[0]), axis("n", C.shape[1]), axis("k", A.shape[1])
    for _ in parallel(shape(1)):
        a, b = A[coord(shift, 0), shape(m, k)], B[coord(0, 0), shape(k, n)]
        if swapped:
            a, b = B[coord(0, 0), shape(m, k)], A[coord(0, 0), shape(k, n)]
        c = mma(a, b, zeros(dtype, shape(m, n)), reassociate=not ordered)
        C.at(coord(0, 0), shape(m, n)).store(c if scale == 1.0 else c * scale)
        if twice:
            C.at(coord(0, 0), shape(m, n)).store(c + 1.0)


def square(extent: int = 8, **options: Any) -> Kernel:
    kind = options.get("dtype", f32)
    return whole.capture(*[tensor_shape(extent, extent, dtype=kind)] * 3, **options)


def arrays(m: int, k: int, n: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(m * k * n)
    return rng.standard_normal((m, k), "f4"), rng.standard_normal((k, n), "f4"), np.full((m, n), 7, "f4")


@pytest.fixture(autouse=True)
def registered() -> None:
    register_functions(open_door(), CBLAS)


@pytest.mark.parametrize(
    ("m", "k", "n", "options"),
    [
        (M, K, N, {}),
        (8, 4, 64, {}),
        (M, K, N, {"bm": 16, "bn": 64, "bk": 8}),
        (1, 1, 1, {}),
        (40, 300, 33, {"bm": 8, "bk": 100}),
        (5, 7, 3, {"bm": 1, "bn": 1, "bk": 1}),
        (6, 1, 1, {"bm": 2, "bn": 3, "bk": 4}),
    ],
)
def test_a_whole_product_is_one_call(m: int, k: int, n: int, options: dict[str, int]) -> None:
    found = compile(blocked(m, k, n, **options), CBLAS)
    assert found.lowered.plan.calls == {CBLAS_MATMUL: 1}
    assert str(found.lowered.module).count(f'call_packed("{CBLAS_MATMUL}"') == 1
    assert found.source.count(f'c"{CBLAS_MATMUL}\\00"') == 1
    assert "llvm.fma" not in found.source
    a, b, c = arrays(m, k, n)
    found(a, b, c)
    exact, bound = a.astype("f8") @ b.astype("f8"), np.abs(a).astype("f8") @ np.abs(b)
    assert (np.abs(c - exact) <= (k + 2) * 2.0**-24 * bound).all()


def test_without_the_option_nothing_is_called() -> None:
    found = compile(blocked(), TirxOptions(noalias=True))
    assert CBLAS_MATMUL not in found.source
    assert not found.lowered.plan.calls


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"scale": 2.0}, "holds tile.mul|is no product"),
        ({"ordered": True}, "keeps the order of its sum"),
        ({"swapped": True}, "not the first and the second argument"),
        ({"shift": 1}, "lie apart"),
        ({"twice": True}, "tile.store 2 times"),
        ({"dtype": f64}, "not three compact float32 matrices"),
    ],
)
def test_what_is_near_a_product_is_refused_with_its_reason(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(PlanError, match=reason) as caught:
        lower(square(**options), CBLAS)
    assert caught.value.diagnostic.code.id == "TW475"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"start": 1.0}, "does not begin at zero"),
        ({"at": True}, "shapes are not those of a product|is turned"),
        ({"bt": True}, "shapes are not those of a product|is turned"),
    ],
)
def test_blocks_of_another_product_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(PlanError, match=reason):
        lower(blocked(8, 8, 8, **options), CBLAS)


def test_strided_arguments_are_refused() -> None:
    near = tensor_shape(8, 8, dtype=f32)
    with pytest.raises(PlanError, match="not three compact"):
        lower(whole.capture(tensor_shape(8, 8, dtype=f32, strides=(9, 1)), near, near), CBLAS)


@tile.kernel
def uncovered(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], *, programs: int, step: int):
    """Rows in blocks of 4, `step` apart."""
    m, n, k = axis("m", 4), axis("n", C.shape[1]), axis("k", A.shape[1])
    for nest in parallel(shape(programs)):
        row = nest.index() * step
        c = mma(A[coord(row, 0), shape(m, k)], B[coord(0, 0), shape(k, n)], zeros(f32, shape(m, n)))
        C.at(coord(row, 0), shape(m, n)).store(c)


@pytest.mark.parametrize(("programs", "step", "proved"), [(2, 4, True), (1, 4, False), (3, 4, False), (2, 3, False)])
def test_tiles_cover_their_matrix_once(programs: int, step: int, proved: bool) -> None:
    kernel = uncovered.capture(*[tensor_shape(8, 8)] * 3, programs=programs, step=step)
    assert isinstance(product_of(kernel), WholeProduct if proved else NoProduct)


def test_the_overlap_must_be_excluded() -> None:
    with pytest.raises(PlanError, match="noalias is False") as caught:
        TirxOptions(cpu_matrix_backend=CpuMatrixBackend.CBLAS)
    assert caught.value.diagnostic.code.id == "TW427"


# ---- contracts that nobody stands behind


def exported(kernel: Kernel, *, noalias: bool = True) -> Any:
    attributes = {"tirx.noalias": True} if noalias else {}
    return export(kernel, Nodes(open_door()), sharing_of(kernel, SharedSSA.PRESERVE), attributes).function


CONTRACT = WholeProduct(8, 8, 8)


def spent(kernel: Kernel, contract: WholeProduct = CONTRACT, *, noalias: bool = True) -> Any:
    return call_for(open_door(), with_contract(open_door(), exported(kernel, noalias=noalias), contract))


def test_a_contract_on_a_product_is_spent() -> None:
    assert str(spent(square())).count(CBLAS_MATMUL) == 1


@pytest.mark.parametrize(
    ("kernel", "noalias", "contract", "reason"),
    [
        ({"swapped": True}, True, CONTRACT, "operands and result lie apart"),
        ({"scale": 2.0}, True, CONTRACT, "something else than a sum is stored"),
        ({"shift": 1}, True, CONTRACT, "operands and result lie apart"),
        ({"ordered": True}, True, CONTRACT, "keeps the order of its sum"),
        ({"twice": True}, True, CONTRACT, "something follows the stores to C"),
        ({}, False, CONTRACT, "may overlap"),
        ({}, True, WholeProduct(8, 8, 4), "not the matrices of its contract"),
        ({}, True, WholeProduct(8, 8, 8, version=2), "version 2, not 1"),
    ],
)
def test_a_stale_or_forged_contract_changes_nothing(
    kernel: dict[str, Any], noalias: bool, contract: WholeProduct, reason: str
) -> None:
    assert reason in spent(square(**kernel), contract, noalias=noalias)


def test_without_a_contract_nothing_is_replaced() -> None:
    assert call_for(open_door(), exported(square())) == "its contract has version None, not 1"


@pytest.mark.parametrize(("options", "reason"), [
    ({"start": 1.0}, "begins at another number than 0"),
    ({"at": True}, "lie apart"),
    ({"bt": True}, "lie apart"),
])  # fmt: skip
def test_loops_of_another_product_are_read(options: dict[str, Any], reason: str) -> None:
    assert reason in spent(blocked(8, 8, 8, **options))


@pytest.mark.parametrize(
    ("programs", "step", "reason"),
    [(1, 4, "do not reach the end of C"), (2, 3, "overlap, or leave gaps"), (2, 5, "overlap, or leave gaps")],
)
def test_loops_that_miss_a_part_of_the_result_are_read(programs: int, step: int, reason: str) -> None:
    assert reason in spent(uncovered.capture(*[tensor_shape(8, 8)] * 3, programs=programs, step=step))


def test_the_registered_function_takes_turned_operands() -> None:
    """It stands under a name of TVM's, so others may call it."""
    door = open_door()
    function, ((a, b, c), k) = door.tvm.get_global_func(CBLAS_MATMUL), (arrays(M, K, N), K)
    for turns in ((False, False), (True, False), (False, True), (True, True)):
        given = [np.ascontiguousarray(x.T) if turned else x for x, turned in zip((a, b), turns, strict=True)]
        c[:] = 7
        function(*(door.ffi.from_dlpack(x) for x in (*given, c)), *turns)
        assert np.allclose(c, a @ b, atol=1e-5 * k)


def test_the_registered_function_refuses_what_is_no_compact_float32_matrix() -> None:
    function, tensor = open_door().tvm.get_global_func(CBLAS_MATMUL), open_door().ffi.from_dlpack
    plain = np.ones((4, 4), "f4")
    for other in (np.ones((4, 4)), np.ones((4, 8), "f4")[:, ::2], np.ones((4, 8), "f4")[:, :4], np.ones(4, "f4")):
        for place in range(3):
            given = [tensor(other if at == place else plain) for at in range(3)]
            with pytest.raises(TypeError, match="compact float32 matrices"):
                function(*given, False, False)
