"""Library calls that move elements, with known answers: gather, scatter, counts, rearrangements, windows."""

from typing import Any

import numpy as np

from tests.differential.library.cases import ax, normal, whole
from tests.differential.library.harness import Array, Case, case
from tilewright import tile
from tilewright.tile import Tile, axis, i32

X, I = normal(4, 9), whole(4, 9)
IDX = np.asarray([0, 8, -1, 9, 3, 3, 2**40], "i8")
INSIDE = (IDX >= 0) & (IDX < 9)
ALONG = whole(4, 5, low=-2, high=12)
NUMBERS = whole(4, 9, low=-1, high=5)


def along(x: Array, idx: Array, fill: float) -> Array:
    ok = (idx >= 0) & (idx < x.shape[1])
    return np.where(ok, np.take_along_axis(x, np.where(ok, idx, 0), 1), np.float32(fill))


def paired(t: Tile, i: Tile) -> Tile:
    places = tile.relabel(i, tile.shape(ax(t, 0), ax(i, 1)))
    return tile.gather(t, places, ax(t, 1), fill=-3.0)


def joined(a: Tile, b: Tile, c: Tile) -> Tile:
    b, c = (tile.relabel(each, tile.shape(ax(a, 0), ax(each, 1))) for each in (b, c))
    return tile.concatenate([a, b, c], [ax(a, 1), ax(b, 1), ax(c, 1)], axis("out", 12))


def split_and_merged(t: Tile) -> Tile:
    outer, inner = axis("outer", 3), axis("inner", 3)
    parts = tile.split_axis(t, ax(t, 1), outer, inner)
    return tile.merge_axes(tile.transpose(parts, ax(t, 0), inner, outer), inner, outer, axis("merged", 9))


def counts(numbers: Array, bins: int) -> Array:
    return np.stack([np.bincount(row[(row >= 0) & (row < bins)], minlength=bins) for row in numbers]).astype("i4")


def by_segment(t: Tile, n: Tile) -> Tile:
    return tile.segment_sum(t, tile.relabel(n, t.shape), ax(t, 1), axis("s", 4))


SEGMENTS = np.stack([[X.astype("f8")[r][NUMBERS[r] == s].sum() for s in range(4)] for r in range(4)])
PLACES: dict[str, Case] = {
    "gather": case(
        lambda t, i: tile.gather(t, i, ax(t, 1)), [X, IDX], np.where(INSIDE, X[:, np.where(INSIDE, IDX, 0)], 0)
    ),
    "gather with a fill": case(
        lambda t, i: tile.gather(t, i, ax(t, 1), fill=7), [I, IDX], np.where(INSIDE, I[:, np.where(INSIDE, IDX, 0)], 7)
    ),
    "gather of rows": case(lambda t, i: tile.gather(t, i, ax(t, 0)), [X, np.asarray([3, 1, 1], "i4")], X[[3, 1, 1]]),
    "gather by pairs": case(paired, [X, ALONG], along(X, ALONG, -3.0)),
    "gather of nothing": case(
        lambda t, i: tile.gather(t, i, ax(t, 1), fill=2.0), [X[:, :0].copy(), IDX], np.full((4, 7), 2, "f4")
    ),
    "flip": case(lambda t: tile.flip(t, ax(t, 1)), [X], X[:, ::-1]),
    "roll": case(lambda t: tile.roll(t, ax(t, 1), 4), [X], np.roll(X, 4, 1)),
    "roll back": case(lambda t: tile.roll(t, ax(t, 0), -5), [I], np.roll(I, -5, 0)),
    "shift": case(lambda t: tile.shift(t, ax(t, 1), 2), [X], np.pad(X, ((0, 0), (2, 0)))[:, :9]),
    "shift back": case(
        lambda t: tile.shift(t, ax(t, 1), -3, fill=1.5), [X],
        np.pad(X, ((0, 0), (0, 3)), constant_values=1.5)[:, 3:],
    ),
    "shift away": case(lambda t: tile.shift(t, ax(t, 1), 100, fill=5), [I], np.full_like(I, 5)),
    "concatenate": case(joined, [X, X[:, :1].copy(), X[:, :2].copy()], np.concatenate([X, X[:, :1], X[:, :2]], 1)),
    "split and merge": case(split_and_merged, [X], X.reshape(4, 3, 3).transpose(0, 2, 1).reshape(4, 9)),
    "transpose": case(lambda t: tile.transpose(t, ax(t, 1), ax(t, 0)), [X], X.T),
    "reshape": case(lambda t: tile.reshape(t, tile.shape(axis("a", 6), axis("b", 6))), [X], X.reshape(6, 6)),
    "broadcast": case(
        lambda t: tile.broadcast_to(t, tile.shape(ax(t, 0), axis("b", 3), ax(t, 1))), [X],
        np.broadcast_to(X[:, None], (4, 3, 9)),
    ),
    "reindex": case(
        lambda t: tile.reindex(
            t, tile.shape(a := axis("a", 4)), lambda n: tile.coord(n.index(a), n.index(a) * 2)
        ), [X], X[range(4), range(0, 8, 2)],
    ),
    "histogram": case(lambda t: tile.histogram(t, ax(t, 1), axis("b", 4)), [NUMBERS], counts(NUMBERS, 4)),
    "histogram of all": case(
        lambda t: tile.histogram(t, t.shape.axes, axis("b", 5), where=t != 2), [NUMBERS.astype("u1")],
        np.bincount(NUMBERS[(NUMBERS != 2) & (NUMBERS >= 0)], minlength=5).astype("i4"),
    ),
    "segment_sum": case(by_segment, [X, NUMBERS], SEGMENTS, dtype="f4", ulps=4),
    "segment maximum": case(
        lambda t, n: tile.segment_reduce(t, tile.relabel(n, t.shape), ax(t, 1), axis("s", 2), tile.maximum),
        [I, NUMBERS * 0], np.stack([I.max(1), np.full(4, -(2**31), "i4")], 1),
    ),
    "matmul": case(tile.matmul, [I, whole(9, 6)], I @ whole(9, 6)),
    "batched matmul": case(
        lambda a, b: tile.matmul(a, tile.relabel(b, tile.shape(ax(a, 0), ax(b, 1), ax(b, 2)))),
        [whole(3, 4, 5), whole(3, 5, 2)], whole(3, 4, 5) @ whole(3, 5, 2),
    ),
    "matmul of f16": case(
        tile.matmul, [I.astype("f2"), np.ones((9, 3), "f2")],
        (I.astype("f4") @ np.ones((9, 3), "f4")).astype("f2"),
    ),
    "einsum of a product": case(
        lambda a, b: tile.einsum("bik,bkj->jbi", a, b), [whole(3, 4, 5), whole(3, 5, 2)],
        np.einsum("bik,bkj->jbi", whole(3, 4, 5), whole(3, 5, 2)),
    ),
    "einsum with sums of its own": case(
        lambda a, b: tile.einsum("ix,iy->i", a, b), [I, whole(4, 3)], np.einsum("ix,iy->i", I, whole(4, 3))
    ),
    "einsum of an outer product": case(
        lambda a, b: tile.einsum("i,j->ji", a, b), [I[0], I[1, :4].copy()], np.outer(I[1, :4], I[0])
    ),
    "einsum of three": case(
        lambda a, b, c: tile.einsum("ij,jk,kl->il", a, b, c), [whole(3, 4), whole(4, 5), whole(5, 2)],
        whole(3, 4) @ whole(4, 5) @ whole(5, 2),
    ),
    "einsum of one": case(lambda a: tile.einsum("ij->j", a), [I], I.sum(0, dtype="i4")),
    "matmul of integers in i32": case(
        lambda a, b: tile.matmul(a.astype(i32), b.astype(i32)), [I.astype("i1"), whole(9, 3, dtype="i1")],
        I @ whole(9, 3),
    ),
}  # fmt: skip


def conv(x: Array, w: Array, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1) -> Array:
    """NCHW by OIHW, exactly for integers, by the definition."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    (n, _, h, width), (o, i, kh, kw) = x.shape, w.shape
    oh, ow = (h - dilation * (kh - 1) - 1) // stride + 1, (width - dilation * (kw - 1) - 1) // stride + 1
    out = np.zeros((n, o, oh, ow), x.dtype)
    for f, y, z in np.ndindex(o, oh, ow):
        g = f // (o // groups)
        part = x[:, g * i : (g + 1) * i, y * stride :, z * stride :][
            :, :, : dilation * kh : dilation, : dilation * kw : dilation
        ]
        out[:, f, y, z] = (part * w[f]).sum((1, 2, 3))
    return out


def pooled(x: Array, size: int, stride: int, padding: int, fold: Any, fill: float) -> Array:
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)), constant_values=fill)
    seen = np.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3))[:, :, ::stride, ::stride]
    return fold(seen, axis=(4, 5))


def last(x: Array) -> Array:
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1))


PIC, FILTER = whole(2, 4, 7, 6).astype("f4"), whole(6, 4, 3, 3, low=-3, high=4).astype("f4")
DEEP = whole(4, 1, 3, 3, low=-3, high=4).astype("f4")
WINDOWS: dict[str, Case] = {
    "conv2d": case(tile.conv2d, [PIC, FILTER], conv(PIC, FILTER)),
    "conv2d, strided and padded": case(
        lambda x, w: tile.conv2d(x, w, stride=2, padding=1), [PIC, FILTER], conv(PIC, FILTER, 2, 1)
    ),
    "conv2d, dilated": case(
        lambda x, w: tile.conv2d(x, w, dilation=2, padding=2), [PIC, FILTER], conv(PIC, FILTER, 1, 2, 2)
    ),
    "conv2d in two groups": case(
        lambda x, w: tile.conv2d(x, w, groups=2), [PIC, FILTER[:, :2].copy()], conv(PIC, FILTER[:, :2], groups=2)
    ),
    "depthwise conv2d": case(
        lambda x, w: tile.conv2d(x, w, groups=4, padding=1), [PIC, DEEP], conv(PIC, DEEP, 1, 1, groups=4)
    ),
    "conv2d of NHWC by HWIO": case(
        lambda x, w: tile.conv2d(x, w, stride=2, layout="NHWC", weights="HWIO"),
        [last(PIC), np.ascontiguousarray(FILTER.transpose(2, 3, 1, 0))], last(conv(PIC, FILTER, 2)),
    ),
    "conv2d of integers": case(
        tile.conv2d, [PIC.astype("i4"), FILTER.astype("i4")], conv(PIC, FILTER).astype("i4")
    ),
    "conv2d of f16": case(
        tile.conv2d, [PIC.astype("f2"), FILTER.astype("f2")], conv(PIC, FILTER).astype("f2")
    ),
    "conv2d smaller than its filter": case(
        tile.conv2d, [PIC[:, :, :2].copy(), FILTER], np.zeros((2, 6, 0, 4), "f4")
    ),
    "max_pool2d": case(lambda x: tile.max_pool2d(x, 2), [PIC], pooled(PIC, 2, 2, 0, np.max, 0)),
    "max_pool2d, padded": case(
        lambda x: tile.max_pool2d(x, 3, stride=2, padding=1), [PIC], pooled(PIC, 3, 2, 1, np.max, -np.inf)
    ),
    "max_pool2d of NHWC": case(
        lambda x: tile.max_pool2d(x, 2, stride=1, layout="NHWC"), [last(PIC)], last(pooled(PIC, 2, 1, 0, np.max, 0))
    ),
    "avg_pool2d": case(
        lambda x: tile.avg_pool2d(x, 2, stride=2, padding=1), [PIC], pooled(PIC, 2, 2, 1, np.mean, 0)
    ),
}  # fmt: skip
