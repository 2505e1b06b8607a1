"""Kernels that tests, demo, documentation and benchmarks share, and the registry of all of them."""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from examples.gallery import answers, attention, elementwise, fused, gemm, images, losses, ordering, products, rows
from examples.gallery.entry import Entry, Result, chance, normal, places, whole
from tilewright.tools.running_error import exact

__all__ = ["ENTRIES", "Entry"]

M, K, N = 50, 37, 45
_MN, _ROW = normal(M, N), normal(N)
_OUT, _EACH = Result((M, N)), Result((M,))
_CAUSAL = MappingProxyType({"causal": True, "bq": 8, "bk": 8})

_PRODUCTS = {
    "gemm": Entry(gemm.gemm, (normal(M, K), normal(K, N)), (_OUT,), answers.product),
    "gemm_at": Entry(gemm.gemm_at, (normal(K, M), normal(K, N)), (_OUT,), lambda a, b: answers.product(a.T, b)),
    "gemm_bt": Entry(gemm.gemm_bt, (normal(M, K), normal(N, K)), (_OUT,), lambda a, b: answers.product(a, b.T)),
    "gemm_atbt": Entry(gemm.gemm_atbt, (normal(K, M), normal(N, K)), (_OUT,), lambda a, b: answers.product(a.T, b.T)),
    "gemm_ragged": Entry(gemm.gemm, (normal(127, 61), normal(61, 193)), (Result((127, 193)),), answers.product),
    "batched_gemm": Entry(
        products.batched_gemm, (normal(3, M, K), normal(3, K, N)), (Result((3, M, N)),), answers.product
    ),
    "gemm_plus": Entry(
        products.gemm_plus, (normal(M, K), normal(K, N)), (Result((M, N), start=_MN),), answers.product_plus
    ),
    "gemm_f16": Entry(
        products.gemm_f16, (normal(M, K, dtype="f2"), normal(K, N, dtype="f2")), (_OUT,), answers.product
    ),
    "gemm_i8": Entry(
        products.gemm_i8,
        (whole(M, K, low=-128, high=128, dtype="i1"), whole(K, N, low=-128, high=128, dtype="i1")),
        (Result((M, N), "i4"),),
        lambda a, b: exact(a.astype("i4") @ b.astype("i4")),
    ),
    "gemm_ordered": Entry(products.gemm_ordered, (normal(M, K), normal(K, N)), (_OUT,), answers.product),
    "gemm_memory": Entry(products.gemm_memory, (normal(M, K), normal(K, N)), (_OUT,), answers.product),
}
_FUSED = {
    "gemm_bias_gelu": Entry(
        fused.gemm_bias_gelu, (normal(M, K), normal(K, N), _ROW), (_OUT,), answers.product_bias_gelu
    ),
    "glu": Entry(fused.glu, (normal(M, K), normal(K, N), normal(K, N)), (_OUT,), answers.glu),
    "mlp": Entry(
        fused.mlp,
        (normal(M, K), normal(K, 70), normal(70, N)),
        (_OUT,),
        answers.mlp,
        MappingProxyType({"bh": 32, "bk": 32}),
    ),
    "gemm_softmax": Entry(fused.gemm_softmax, (normal(M, K), normal(K, N)), (_OUT,), answers.product_softmax),
    "gemm_transposed": Entry(
        fused.gemm_transposed, (normal(M, K), normal(K, N)), (Result((N, M)),), lambda a, b: answers.product(b.T, a.T)
    ),
    "gemm_scaled": Entry(fused.gemm_scaled, (normal(M, K), normal(K), normal(K, N)), (_OUT,), answers.product_scaled),
    "gemm_dequantised": Entry(
        fused.gemm_dequantised,
        (normal(M, K), whole(N, K, low=-128, high=128, dtype="i1"), normal(N)),
        (_OUT,),
        answers.product_dequantised,
    ),
    "gemm_masked": Entry(
        fused.gemm_masked, (normal(M, K), normal(K, N), chance(K, N)), (_OUT,), answers.product_masked
    ),
}
_ELEMENTWISE = {
    "copy": Entry(elementwise.copy, (_MN,), (_OUT,), exact),
    "add": Entry(elementwise.add, (_MN, _MN), (_OUT,), lambda a, b: exact(a + b)),
    "add_vectors": Entry(
        elementwise.add_vectors, (normal(300), normal(300)), (Result((300,)),), lambda a, b: exact(a + b)
    ),
    "scaled_sum": Entry(elementwise.scaled_sum, (_MN, _MN), (_OUT,), answers.scaled_sum),
    "clamp": Entry(elementwise.clamp, (_MN,), (_OUT,), answers.clamped),
    "exponential": Entry(elementwise.exponential, (_MN,), (_OUT,), lambda x: exact(x).exp()),
    "bias_gelu_residual": Entry(elementwise.bias_gelu_residual, (_MN, _ROW, _MN), (_OUT,), answers.bias_gelu_residual),
    "bias_gelu_residual_erf": Entry(
        elementwise.bias_gelu_residual,
        (_MN, _ROW, _MN),
        (_OUT,),
        answers.bias_gelu_residual_erf,
        MappingProxyType({"approximate": "erf"}),
    ),
    "swiglu": Entry(elementwise.swiglu, (_MN, _MN), (_OUT,), answers.swiglu),
}
_ROWS = {
    "softmax": Entry(rows.softmax, (_MN,), (_OUT,), answers.softmax),
    "masked_softmax": Entry(rows.masked_softmax, (_MN, chance(M, N)), (_OUT,), answers.masked_softmax),
    "layer_norm": Entry(
        rows.layer_norm, (_MN, _ROW, _ROW), (_OUT,), lambda x, w, b: answers.layer_norm(exact(x), w, b)
    ),
    "rms_norm": Entry(rows.rms_norm, (_MN, _ROW), (_OUT,), answers.rms_norm),
    "residual_layer_norm": Entry(
        rows.residual_layer_norm, (_MN, _MN, _ROW, _ROW), (_OUT, _OUT), answers.residual_layer_norm
    ),
    "row_sum": Entry(rows.row_sum, (_MN,), (_EACH,), answers.row_sum),
    "column_sum": Entry(rows.column_sum, (_MN,), (Result((N,)),), answers.column_sum),
    "row_sum_region": Entry(rows.row_sum_region, (_MN,), (_EACH,), answers.row_sum),
    "row_folds": Entry(rows.row_folds, (_MN,), (_EACH,) * 5, answers.row_folds),
    "argmax": Entry(rows.argmax, (_MN,), (Result((M,), "i8"),), lambda x: exact(x.argmax(1))),
    "rope": Entry(rows.rope, (normal(M, 34), normal(M, 17), normal(M, 17)), (Result((M, 34)),), answers.rope),
}
_LOSSES = {
    "mse": Entry(losses.mse, (_MN, _MN), (_EACH,), answers.mse),
    "mae": Entry(losses.mae, (_MN, _MN), (_EACH,), answers.mae),
    "huber": Entry(losses.huber, (_MN, _MN), (_EACH,), answers.huber),
    "bce": Entry(losses.bce, (_MN, _MN), (_EACH,), answers.bce),
    "cross_entropy": Entry(losses.cross_entropy, (_MN, places(M, below=N)), (_EACH,), answers.cross_entropy),
    "cross_entropy_gradient": Entry(
        losses.cross_entropy_gradient, (_MN, places(M, below=N)), (_OUT,), answers.cross_entropy_gradient
    ),
}
_ATTENTION = {
    "attention": Entry(
        attention.attention,
        (normal(2, 21, 8), normal(2, 43, 8), normal(2, 43, 5)),
        (Result((2, 21, 5)),),
        lambda q, k, v: answers.attention(q, k, v, causal=False),
    ),
    "causal_attention": Entry(
        attention.attention,
        (normal(2, 37, 8), normal(2, 37, 8), normal(2, 37, 5)),
        (Result((2, 37, 5)),),
        lambda q, k, v: answers.attention(q, k, v, block=8),
        _CAUSAL,
    ),
    "attention_prefill": Entry(
        attention.grouped_attention,
        (normal(2, 4, 35, 8), normal(2, 2, 35, 8), normal(2, 2, 35, 7)),
        (Result((2, 4, 35, 7)),),
        answers.grouped_attention,
    ),
    "attention_decode": Entry(
        attention.grouped_attention,
        (normal(2, 4, 1, 8), normal(2, 2, 70, 8), normal(2, 2, 70, 7)),
        (Result((2, 4, 1, 7)),),
        answers.grouped_attention,
    ),
}
_IMAGES = {
    "conv": Entry(
        images.conv,
        (normal(2, 3, 11, 9), normal(4, 3, 3, 3)),
        (Result((2, 4, 6, 5)),),
        lambda x, w: answers.conv(x, w, padding=1, stride=2),
        MappingProxyType({"stride": 2, "padding": 1}),
    ),
    "conv_last": Entry(
        images.conv_last, (normal(2, 6, 9, 5), normal(3, 3, 5, 7)), (Result((2, 6, 9, 7)),), answers.conv_last
    ),
    "depthwise_pool": Entry(
        images.depthwise_pool,
        (normal(2, 3, 9, 8), normal(3, 1, 3, 3)),
        (Result((2, 3, 4, 4)),),
        answers.depthwise_pool,
    ),
    "sobel": Entry(images.sobel, (normal(19, 70),), (Result((19, 70)),), answers.sobel),
    "median": Entry(images.median, (normal(9, 37),), (Result((9, 37)),), answers.median),
}
_ORDERING = {
    "sort_rows": Entry(ordering.sort_rows, (_MN,), (_OUT,), lambda x: exact(np.sort(x, 1))),
    "top_k": Entry(ordering.top_k, (_MN,), (Result((M, 5)), Result((M, 5), "i8")), lambda x: answers.top_k(x, 5)),
    "row_scan": Entry(ordering.row_scan, (_MN,), (_OUT,), answers.row_scan),
    "blocked_scan": Entry(ordering.blocked_scan, (_MN,), (_OUT,), answers.row_scan),
    "recurrence": Entry(ordering.recurrence, (_MN, _MN), (_OUT,), answers.recurrence),
    "segment_sums": Entry(
        ordering.segment_sums,
        (_MN, whole(M, low=0, high=7, dtype="i4")),
        (Result((6, N)),),
        lambda x, s: answers.segment_sums(x, s, 6),
    ),
    "transpose": Entry(ordering.transpose, (_MN,), (Result((N, M)),), lambda x: exact(x.T)),
    "nested": Entry(ordering.nested, (normal(5, 3, 4, 9),), (Result((5,)),), answers.nested),
}
ENTRIES: Mapping[str, Entry] = MappingProxyType(
    {**_PRODUCTS, **_FUSED, **_ELEMENTWISE, **_ROWS, **_LOSSES, **_ATTENTION, **_IMAGES, **_ORDERING}
)
"""Every kernel of the gallery under a name; some more than once, with other shapes or another configuration."""
