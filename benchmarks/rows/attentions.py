"""Attention in f32: 8 heads, width 64, from the gallery's plain kernel with the user's blocks."""

from types import MappingProxyType

from benchmarks.rows.row import Bar, Race, Row
from examples.gallery import answers
from examples.gallery.attention import attention
from examples.gallery.entry import Entry, Result, normal

__all__ = ["ROWS", "attention_entry"]

HEADS, WIDTH = 8, 64


def attention_entry(positions: int, blocks: tuple[int, int], *, causal: bool, heads: int = HEADS) -> Entry:
    """Queries, keys and values of the same length; `blocks` are those of queries and of keys."""
    (bq, bk), shape = blocks, (heads, positions, WIDTH)
    return Entry(
        attention,
        (normal(*shape),) * 3,
        (Result(shape),),
        lambda q, k, v: answers.attention(q, k, v, block=bk, causal=causal),
        MappingProxyType({"bq": bq, "bk": bk, "causal": causal}),
    )


def _race(positions: int, blocks: tuple[int, int], limit: float, *, causal: bool) -> Race:
    kind = "causal" if causal else "full"
    return Race(
        name=f"attention {kind} S={positions} blocks {blocks[0]}x{blocks[1]}",
        group="attention",
        job=f"attention_{kind}",
        entry=attention_entry(positions, blocks, causal=causal),
        small=attention_entry(40, (16, 32), causal=causal, heads=2),
        bars=(Bar(limit),),
        flops=4 * HEADS * positions * (positions + 1 if causal else 2 * positions) * WIDTH // 2,
        quick=positions == 512 and blocks == (32, 32),
    )


ROWS: tuple[Row, ...] = (
    *(_race(s, b, 0.85, causal=False) for s in (512, 1024) for b in ((32, 32), (64, 64), (64, 128))),
    *(_race(s, b, 0.65, causal=True) for s in (512, 1024) for b in ((32, 32), (64, 64))),
    _race(1000, (64, 64), 0.95, causal=False),
    _race(1000, (64, 64), 0.75, causal=True),
)
