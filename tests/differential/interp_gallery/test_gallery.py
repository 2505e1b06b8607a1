"""The gallery, captured and interpreted, against float64. Bounds follow from the number of roundings: u = 2**-24."""

from typing import Any

import numpy as np
import pytest

from examples.gallery import attention, elementwise, gemm, rows
from tilewright import interp
from tilewright.interp import Checks
from tilewright.tile import tensor_shape

U = 2.0**-24


def _run(definition: Any, inputs: list[np.ndarray], shape: tuple[int, ...], **options: Any) -> np.ndarray:
    """What the kernel leaves in its last argument, which is poisoned before."""
    shapes = [tensor_shape(*array.shape) for array in inputs]
    kernel = definition.capture(*shapes, tensor_shape(*shape), **options)
    out = np.empty(shape, "f4")
    interp.run(kernel, [*inputs, out], check=Checks(poison=(kernel.parameters[-1].name,)))
    return out.astype("f8")


def _normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("f4")


@pytest.mark.parametrize("size", [(33, 17, 20), (1, 1, 1), (16, 0, 4), (0, 3, 2), (5, 64, 1)])
@pytest.mark.parametrize("name", ["gemm", "gemm_at", "gemm_bt", "gemm_atbt"])
def test_every_storage_of_a_product(name: str, size: tuple[int, int, int]) -> None:
    M, K, N = size
    a, b = _normal(M, K), _normal(K, N)
    inputs = [a.T.copy() if "at" in name else a, b.T.copy() if name.endswith("bt") else b]
    out = _run(getattr(gemm, name), inputs, (M, N), bm=16, bn=16, bk=8)
    bound = K * U * (np.abs(a).astype("f8") @ np.abs(b).astype("f8"))  # one rounding a step
    assert (np.abs(out - a.astype("f8") @ b.astype("f8")) <= bound).all()


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


@pytest.mark.parametrize("shape", [(5, 33), (4, 1), (1, 200)])
def test_softmax(shape: tuple[int, int]) -> None:
    x = _normal(*shape)
    out, exact = _run(rows.softmax, [x], shape), _softmax(x.astype("f8"))
    spread = (x.max(1) - x.min(1)).max()  # the difference is rounded before exp
    assert (np.abs(out - exact) <= (2 * spread + shape[1] + 4) * U * exact).all()


def test_c33_a_fully_masked_row_gives_zeros() -> None:
    keep = np.ones((3, 5), "?")
    keep[1], keep[2, 1:] = False, False
    out = _run(rows.masked_softmax, [np.zeros((3, 5), "f4"), keep], (3, 5))
    assert out.astype("f4").tolist() == [[np.float32(0.2)] * 5, [0] * 5, [1, 0, 0, 0, 0]]


def test_c34_a_masked_key_takes_no_part() -> None:
    x, keep = np.asarray([[-2e5, -2e5, -199999, 0]], "f4"), np.asarray([[True, True, True, False]])
    out = _run(rows.masked_softmax, [x, keep], (1, 4))
    assert np.abs(out - [[0.211942, 0.211942, 0.576117, 0]]).max() < 1e-6


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool) -> None:
    q, k, v = _normal(2, 21, 8), _normal(2, 21, 8) / 2, _normal(2, 21, 5)
    out = _run(attention.attention, [q, k, v], (2, 21, 5), bq=8, bk=8, causal=causal)
    scores = q.astype("f8") @ k.astype("f8").transpose(0, 2, 1) / np.sqrt(8)
    if causal:
        scores = np.where(np.tri(21, dtype="?"), scores, -np.inf)
    exact = np.stack([_softmax(head) for head in scores]) @ v.astype("f8")
    size = np.abs(scores[np.isfinite(scores)]).max()
    # scores carry width + 2 roundings and the rounding of their difference; weights and sums one a step
    bound = ((8 + 4) * 4 * size + 4 * 21 + 8) * U * np.abs(v).max()
    assert (np.abs(out - exact) <= bound).all()


def test_layer_norm_and_rms_norm() -> None:
    x, w, b = _normal(6, 40), _normal(40), _normal(40)[::-1].copy()
    wide = x.astype("f8")
    mean, var = wide.mean(1, keepdims=True), wide.var(1, keepdims=True)
    out = _run(rows.layer_norm, [x, w, b], (6, 40))
    exact = (wide - mean) / np.sqrt(var + 1e-5) * w + b
    scale = np.abs(wide / np.sqrt(var + 1e-5) * w) + np.abs(b) + np.abs(exact)
    assert (np.abs(out - exact) <= (3 * 40 + 10) * U * scale.max()).all()
    out = _run(rows.rms_norm, [x, w], (6, 40))
    exact = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-5) * w
    assert (np.abs(out - exact) <= (40 + 10) * U * np.abs(exact)).all()


@pytest.mark.parametrize("policy", ["unordered_tree", "ordered_tree", "fold_left", "fold_right"])
def test_row_sums_stay_within_the_roundings_of_any_order(policy: str) -> None:
    x = _normal(3, 100)
    bound = 100 * U * np.abs(x).sum(1, dtype="f8")
    out = _run(rows.row_sum_region, [x], (3,), policy=policy)
    assert (np.abs(out - x.sum(1, dtype="f8")) <= bound).all()
    ordered = x if policy != "fold_right" else x[:, ::-1]
    assert (out == np.add.accumulate(ordered, axis=1)[:, -1]).all()


def test_elementwise_kernels_over_ragged_tiles() -> None:
    x, y, bias = _normal(11, 300), _normal(300, 11).T.copy(), _normal(300)
    assert (_run(elementwise.add, [x, y], (11, 300)) == (x + y)).all()
    out = _run(elementwise.swiglu, [x, y], (11, 300))
    exact = y / (1 + np.exp(-y.astype("f8"))) * x
    assert (np.abs(out - exact) <= 8 * U * np.abs(exact)).all()
    out = _run(elementwise.bias_gelu_residual, [x, bias, y], (11, 300))
    z = x.astype("f8") + bias
    exact = 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3))) + y
    assert (np.abs(out - exact) <= 16 * U * (np.abs(z) + np.abs(y) + np.abs(x) + np.abs(bias))).all()
