"""Matrix products in f32: squares, ragged and skinny ones, stored transposed, batched, with an epilogue."""

from collections.abc import Mapping
from types import MappingProxyType

from benchmarks.rows.row import Alike, Bar, Race, Row
from examples.gallery import answers
from examples.gallery.entry import Entry, Result, normal
from examples.gallery.fused import gemm_bias_gelu
from examples.gallery.gemm import gemm, gemm_at, gemm_atbt, gemm_bt
from examples.gallery.products import batched_gemm, gemm_ordered

__all__ = ["ROWS", "product"]

GROUP, FEW = "matrix products", "matrices and a few vectors"
POWERS = (32, 64, 128, 256, 512, 1024, 2048)
OTHERS = ((1000, 1000, 1000), (127, 129, 131), (1000, 17, 1000), (64, 64, 4096))
SKINNY = (1, 4, 8, 16, 64)
TRANSPOSED = (128, 512, 1024)
LAYERS = (1, 8)  # rows of a linear layer
TILES = ((16, 16), (32, 32), (64, 64), (128, 128), (48, 80))
SMALL = (33, 17, 40)  # M, N, K of the tests

_KERNELS = {"NN": gemm, "TN": gemm_at, "NT": gemm_bt, "TT": gemm_atbt}
_JOBS = {"NN": "gemm", "TN": "gemm_at", "NT": "gemm_bt", "TT": "gemm_atbt"}


def product(m: int, n: int, k: int, *, stored: str = "NN", tile: tuple[int, int, int] | None = None) -> Entry:
    """C[m, n] over k, each operand stored as it is (N) or transposed (T)."""
    a, b = (k, m) if stored[0] == "T" else (m, k), (n, k) if stored[1] == "T" else (k, n)
    config: Mapping[str, object] = {} if tile is None else dict(zip(("bm", "bn", "bk"), tile, strict=True))
    return Entry(
        _KERNELS[stored],
        (normal(*a), normal(*b)),
        (Result((m, n)),),
        lambda x, y: answers.product(x.T if stored[0] == "T" else x, y.T if stored[1] == "T" else y),
        MappingProxyType(config),
    )


def _race(
    m: int, n: int, k: int, bar: Bar, *, stored: str = "NN", group: str = GROUP, share: float = 0.0, quick: bool = False
) -> Race:  # fmt: skip
    return Race(
        name=f"gemm {stored} {m}x{n}x{k}",
        group=group,
        job=_JOBS[stored],
        entry=product(m, n, k, stored=stored),
        small=product(*SMALL, stored=stored),
        bars=(bar,),
        flops=2 * m * n * k,
        peak_share=share,
        quick=quick,
    )


def _batched(count: int, n: int) -> Entry:
    return Entry(batched_gemm, (normal(count, n, n),) * 2, (Result((count, n, n)),), answers.product)


def _epilogue(m: int, n: int, k: int) -> Entry:
    inputs = normal(m, k), normal(k, n), normal(n)
    return Entry(gemm_bias_gelu, inputs, (Result((m, n)),), answers.product_bias_gelu)


def _ordered(n: int) -> Mapping[str, Entry]:
    plain = product(n, n, n)
    return {"any order": plain, "in order": Entry(gemm_ordered, plain.inputs, plain.results, plain.answer)}


def _tiles(n: int) -> Mapping[str, Entry]:
    return {f"{bm}x{bn}": product(n, n, n, tile=(bm, bn, min(bm, bn))) for bm, bn in TILES}


ROWS: tuple[Row, ...] = (
    *(_race(n, n, n, Bar(1.0), share=0.85 if n >= 128 else 0.0, quick=n in {64, 256, 1024}) for n in POWERS),
    *(_race(*s, Bar(1.05, starred=True) if s[1] == 17 else Bar(1.0), quick=s[0] == 127) for s in OTHERS),
    *(
        _race(m, 4096, 4096, Bar(1.05, starred=True) if m == 1 else Bar(1.0), quick=m == 8)
        for m in SKINNY
    ),
    *(_race(n, n, n, Bar(1.0), stored=s, quick=n == 512) for s in ("TN", "NT", "TT") for n in TRANSPOSED),
    _race(4096, 1, 4096, Bar(1.0), group=FEW),
    *(_race(m, 4096, 4096, Bar(1.0), stored="NT", group=FEW) for m in LAYERS),
    *(
        Alike(name=f"user tiles {n}", group="tiles and order", entries=_tiles(n), small=_tiles(50), bars=(Bar(1.05),))
        for n in (512, 1024)
    ),
    *(
        Alike(
            name=f"sums in order {n}", group="tiles and order", entries=_ordered(n), small=_ordered(50),
            bars=(Bar(1.03),), against="any order", quick=n == 512,
        )
        for n in (512, 1024)
    ),
    Race(
        name="batched 16x256x256x256", group="products with more", job="batched_gemm", entry=_batched(16, 256),
        small=_batched(3, 40), bars=(Bar(0.95),), flops=2 * 16 * 256**3, quick=True,
    ),
    Race(
        name="gemm + bias + GELU 512x2048x512", group="products with more", job="gemm_bias_gelu",
        entry=_epilogue(512, 2048, 512), small=_epilogue(*SMALL), bars=(Bar(0.90),), flops=2 * 512 * 2048 * 512,
        quick=True,
    ),
)  # fmt: skip
