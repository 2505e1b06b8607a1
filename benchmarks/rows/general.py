"""Programs that no rule of the compiler names. Their bar is PyTorch as one would call it."""

from collections.abc import Callable

from benchmarks.rows.row import Bar, Race, Row
from examples.gallery import answers
from examples.gallery.entry import Entry, Result, normal
from examples.gallery.fused import gemm_scaled, gemm_softmax, gemm_transposed, glu, mlp
from examples.gallery.images import conv_last
from examples.gallery.ordering import transpose
from examples.gallery.rows import column_sum
from tilewright.tools.running_error import exact

__all__ = ["ROWS"]

PEERS = ("torch",)


def _glu(m: int, n: int, k: int) -> Entry:
    return Entry(glu, (normal(m, k), normal(k, n), normal(k, n)), (Result((m, n)),), answers.glu)


def _mlp(m: int, k: int, hidden: int) -> Entry:
    return Entry(mlp, (normal(m, k), normal(k, hidden), normal(hidden, k)), (Result((m, k)),), answers.mlp)


def _gemm_softmax(m: int, n: int, k: int) -> Entry:
    return Entry(gemm_softmax, (normal(m, k), normal(k, n)), (Result((m, n)),), answers.product_softmax)


def _gemm_transposed(m: int, n: int, k: int) -> Entry:
    inputs = normal(m, k), normal(k, n)
    return Entry(gemm_transposed, inputs, (Result((n, m)),), lambda a, b: answers.product(b.T, a.T))


def _gemm_scaled(m: int, n: int, k: int) -> Entry:
    return Entry(gemm_scaled, (normal(m, k), normal(k), normal(k, n)), (Result((m, n)),), answers.product_scaled)


def _column_sum(m: int, n: int) -> Entry:
    return Entry(column_sum, (normal(m, n),), (Result((n,)),), answers.column_sum)


def _conv(side: int, channels: int) -> Entry:
    image = 1, side, side, channels
    return Entry(conv_last, (normal(*image), normal(3, 3, channels, channels)), (Result(image),), answers.conv_last)


def _transpose(m: int, n: int) -> Entry:
    return Entry(transpose, (normal(m, n),), (Result((n, m)),), lambda x: exact(x.T))


def _race(name: str, job: str, entry: Entry, small: Entry, limit: float = 1.0, flops: int = 0) -> Race:
    return Race(
        name=name, group="general programs", job=job, entry=entry, small=small, bars=(Bar(limit),), peers=PEERS,
        flops=flops, quick=name.endswith(("512", "14x14x256", "1024x1024")),
    )  # fmt: skip


def _conv_race(side: int, channels: int, limit: float) -> Race:
    name, flops = f"conv 3x3 {side}x{side}x{channels}", 2 * side * side * 9 * channels * channels
    return _race(name, "conv_last", _conv(side, channels), _conv(6, 5), limit, flops)


def _product_race(name: str, job: str, made: Callable[[int, int, int], Entry], n: int) -> Race:
    return _race(f"{name} {n}", job, made(n, n, n), made(33, 17, 40), flops=2 * n**3)


ROWS: tuple[Row, ...] = (
    _race("GLU 512", "glu", _glu(512, 512, 512), _glu(33, 17, 40), flops=4 * 512**3),
    _race("MLP 256x256x1024", "mlp", _mlp(256, 256, 1024), _mlp(33, 17, 70), flops=4 * 256 * 256 * 1024),
    _product_race("gemm + softmax", "gemm_softmax", _gemm_softmax, 512),
    _product_race("gemm stored transposed", "gemm_transposed", _gemm_transposed, 512),
    _product_race("gemm stored transposed", "gemm_transposed", _gemm_transposed, 1024),
    _product_race("scaled operand", "gemm_scaled", _gemm_scaled, 512),
    _race("column sum 1024x1024", "column_sum", _column_sum(1024, 1024), _column_sum(33, 70)),
    _conv_race(56, 64, 1.05),
    _conv_race(14, 256, 1.0),
    _race("transpose 1024x1024", "transpose", _transpose(1024, 1024), _transpose(33, 70), limit=0.6),
)
