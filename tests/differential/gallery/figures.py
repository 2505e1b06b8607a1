"""Kernels at the sizes at which they are known to break: widths of 1, ragged tiles, packets of 32 and one more."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import numpy as np

from examples.gallery import answers, attention, elementwise, gemm, ordering, rows
from examples.gallery.entry import Array, Entry, Result, chance, normal
from tests.differential.gallery import kernels
from tilewright.tools.running_error import Running, exact

__all__ = ["FIGURES"]


def product_entry(M: int, K: int, N: int, tile: tuple[int, int, int], start: float, *, at: bool, bt: bool) -> Entry:
    def answer(a: Array, b: Array) -> Running:
        onto = exact(np.full((M, N), start, np.float32))
        return onto.plus_product(exact(a.T if at else a), exact(b.T if bt else b))

    config = {"start": start, "at": at, "bt": bt, "bm": tile[0], "bn": tile[1], "bk": tile[2]}
    inputs = normal(K, M) if at else normal(M, K), normal(N, K) if bt else normal(K, N)
    return Entry(kernels.product_onto, inputs, (Result((M, N)),), answer, MappingProxyType(config))


def products() -> Iterator[tuple[str, Entry]]:
    """Whole and ragged tiles, four orientations, and results as wide as packets of vectors."""
    yield "product 16x24x16", product_entry(16, 16, 24, (1, 1, 8), 0.0, at=False, bt=False)
    yield "product 17x19x13", product_entry(17, 13, 19, (2, 3, 4), 0.25, at=False, bt=False)
    for at in (False, True):
        for bt in (False, True):
            yield f"product 7x11x9, {at:d}{bt:d}", product_entry(7, 9, 11, (2, 3, 4), 0.5, at=at, bt=bt)
    for columns in (32, 33, 128):
        for block in (1, 4):
            name = f"product 19x{columns}x65, {block} rows"
            yield name, product_entry(19, 65, columns, (block, 1, 8), 0.0, at=False, bt=False)


def scaled_softmax(x: Array) -> Running:
    v = exact(x) * 0.75 + 0.125
    e = (v - v.max()).exp()
    return e / e.sum()


def row_programs() -> Iterator[tuple[str, Entry]]:
    for width in (1, 7, 17, 65):
        given, result = (normal(17, width),), Result((17, width))
        yield f"scaled softmax {width}", Entry(kernels.scaled_softmax, given, (result,), scaled_softmax)
        yield f"row folds {width}", Entry(rows.row_folds, given, (Result((17,)),) * 5, answers.row_folds)
    for width in (7, 32, 65):
        given, weight, result = normal(17, width), normal(width), (Result((17, width)),)
        yield f"rms norm {width}", Entry(rows.rms_norm, (given, weight), result, answers.rms_norm)
        yield f"layer norm {width}", Entry(rows.layer_norm, (given, weight, weight), result, layer_norm)
        yield f"swiglu {width}", Entry(elementwise.swiglu, (given, given), result, answers.swiglu)
        gelu = Entry(elementwise.bias_gelu_residual, (given, weight, given), result, answers.bias_gelu_residual)
        yield f"gelu and residual {width}", gelu
        masked = Entry(rows.masked_softmax, (given, chance(17, width)), result, answers.masked_softmax)
        yield f"masked softmax {width}", masked
    for width in (6, 32, 66):
        given = normal(17, width), normal(17, width // 2), normal(17, width // 2)
        yield f"rope {width}", Entry(rows.rope, given, (Result((17, width)),), answers.rope)


def layer_norm(x: Array, weight: Array, bias: Array) -> Running:
    return answers.layer_norm(exact(x), weight, bias)


def wide_rows() -> Iterator[tuple[str, Entry]]:
    """More scratch than a thread of the pool has stack."""
    whole = normal(64, 16384), normal(16384)
    yield "rms norm 64x16384", Entry(rows.rms_norm, whole, (Result((64, 16384)),), answers.rms_norm)
    for width in (4096, 16384):
        given = normal(64, width), chance(64, width)
        entry = Entry(rows.masked_softmax, given, (Result((64, width)),), answers.masked_softmax)
        yield f"masked softmax 64x{width}", entry


Sizes = tuple[int, int, int, int, int, int, int]
Folded = tuple[bool, bool] | None


def attention_entry(sizes: Sizes, blocks: tuple[int, int], folded: Folded = None) -> Entry:
    """Batch, heads, heads of keys, queries, positions, width, width of values."""
    (B, H, G, S, T, D, E), (bq, bk) = sizes, blocks

    def answer(q: Array, k: Array, v: Array) -> Running:
        return answers.attention(q, np.repeat(k, H // G, 1), np.repeat(v, H // G, 1), block=bk)

    config: dict[str, object] = {"bq": bq, "bk": bk}
    if folded is not None:
        config |= {"scores_by_fold": folded[0], "values_by_fold": folded[1]}
    kernel = attention.grouped_attention if folded is None else kernels.attention_by_folds
    inputs = normal(B, H, S, D), normal(B, G, T, D), normal(B, G, T, E)
    return Entry(kernel, inputs, (Result((B, H, S, E)),), answer, MappingProxyType(config))


def attentions() -> Iterator[tuple[str, Entry]]:
    for sizes in ((1, 2, 2, 4, 5, 4, 3), (2, 4, 2, 7, 11, 8, 7), (2, 4, 2, 1, 17, 8, 7)):
        yield f"attention {sizes}", attention_entry(sizes, (2, 3))
    for blocks in ((1, 1), (2, 4), (3, 5)):
        yield f"attention in blocks of {blocks}", attention_entry((1, 2, 1, 7, 11, 8, 7), blocks)
    for sizes, blocks in (((1, 2, 1, 4, 5, 7, 3), (2, 3)), ((1, 2, 1, 1, 17, 33, 7), (1, 4))):
        for folded in ((True, False), (False, True), (True, True)):
            yield f"attention {sizes} by folds {folded}", attention_entry(sizes, blocks, folded)


def ported() -> Iterator[tuple[str, Entry]]:
    """Small programs of other tile languages, at sizes of one, of odd numbers, and of a packet."""
    block = MappingProxyType({"bm": 4, "bn": 8})
    for M, N in ((1, 1), (17, 65), (19, 32)):
        x, y = normal(M, N), (Result((M, N)),)
        yield f"copy {M}x{N}", Entry(elementwise.copy, (x,), y, exact, block)
        yield f"add {M}x{N}", Entry(elementwise.add, (x, x), y, lambda a, b: exact(a + b), block)
        yield f"scaled sum {M}x{N}", Entry(elementwise.scaled_sum, (x, x), y, answers.scaled_sum, block)
        yield f"clamp {M}x{N}", Entry(elementwise.clamp, (x,), y, answers.clamped, block)
        yield f"exp {M}x{N}", Entry(elementwise.exponential, (x,), y, lambda a: exact(a).exp(), block)
        yield f"rms norm {M}x{N}", Entry(rows.rms_norm, (x, normal(N)), y, answers.rms_norm)
        yield f"sum {M}x{N}", Entry(rows.row_sum, (x,), (Result((M,)),), answers.row_sum)
        yield f"row folds {M}x{N}", Entry(rows.row_folds, (x,), (Result((M,)),) * 5, answers.row_folds)
        yield f"running sum {M}x{N}", Entry(ordering.row_scan, (x,), y, answers.row_scan)
        turned = Entry(ordering.transpose, (x,), (Result((N, M)),), lambda a: exact(a.T), MappingProxyType({"b": 8}))
        yield f"transpose {M}x{N}", turned
        small = MappingProxyType({"bm": 2, "bn": 2, "bk": 4})
        yield f"gemm {M}x{N}x19", Entry(gemm.gemm, (normal(M, 19), normal(19, N)), y, answers.product, small)


FIGURES: Mapping[str, Entry] = MappingProxyType(
    dict([*products(), *row_programs(), *wide_rows(), *attentions(), *ported()])
)
