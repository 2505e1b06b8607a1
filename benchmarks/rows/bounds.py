"""The bounds on time of the public bug reports, C82 to C87."""

from collections.abc import Callable, Mapping

import numpy as np

from benchmarks.fresh import ready_device
from benchmarks.rows.folds import softmax_entry
from benchmarks.rows.launches import direct_call
from benchmarks.rows.products import SMALL, product
from benchmarks.rows.row import Alike, Bar, Cost, Race, Row
from benchmarks.statistics import sample
from examples.gallery.elementwise import add_vectors, copy, scaled_sum
from examples.gallery.entry import Array, Entry, Make, Result, normal
from tilewright import tile
from tilewright.tools.running_error import exact

__all__ = ["ROWS"]

GROUP = "bounds of bug reports"
SIZES = (1023, 1024, 1025)
MATRIX_ROWS = 64


def _wide_tile(rounds: int) -> list[float]:
    """Seconds to compile an elementwise kernel whose tile is 4 x 65536."""
    device, shape = ready_device(), tile.tensor_shape(4, 65536)
    kernel = scaled_sum.capture(shape, shape, shape, bm=4, bn=65536)
    return [sample(lambda: tile.compile(device, kernel, cache=False), 1) for _ in range(rounds)]


def _bf16(*shape: int) -> Make:
    import ml_dtypes

    made = normal(*shape)

    def make(rng: np.random.Generator) -> Array:
        return made(rng).astype(ml_dtypes.bfloat16)

    return make


def _copy(m: int, n: int) -> Entry:
    inputs = (_bf16(m, n),)
    return Entry(copy, inputs, (Result((m, n), start=_bf16(m, n)),), lambda x, _: exact(x.astype("f8")))


def _add(n: int) -> Entry:
    return Entry(add_vectors, (normal(n), normal(n)), (Result((n,)),), lambda a, b: exact(a + b))


def _softmax(n: int) -> Entry:
    return softmax_entry(MATRIX_ROWS, n)


def _sizes(what: str, made: Callable[[int], Entry]) -> Alike:
    return Alike(
        name=f"C86 {what}, n = 1023 to 1025", group=GROUP, entries={str(n): made(n) for n in SIZES},
        small={str(n): made(n) for n in (31, 33)}, bars=(Bar(1.3),), work={str(n): n for n in SIZES}, quick=True,
    )  # fmt: skip


THREADS: Mapping[str, int] = {"1 thread": 1, "8 threads": 8}

ROWS: tuple[Row, ...] = (
    Cost(
        name="C82 compile a 4x65536 tile", group=GROUP, unit="s", measure=_wide_tile, bars=(Bar(5.0),), quick=True
    ),
    Cost(name="C83 add of 17, direct call", group=GROUP, unit="µs", measure=direct_call, bars=(Bar(5.0),), quick=True),
    Race(
        name="C84 gemm 1024x1024x1024", group=GROUP, job="gemm", entry=product(1024, 1024, 1024),
        small=product(*SMALL), bars=(Bar(2.0),), peers=("numpy",), flops=2 * 1024**3,
    ),
    Race(
        name="C85 softmax 4096x256", group=GROUP, job="softmax", entry=softmax_entry(4096, 256),
        small=softmax_entry(7, 50), bars=(Bar(1.0),), peers=("torch",), quick=True,
    ),
    Race(
        name="C85 bf16 copy 4096x1024", group=GROUP, job="copy", entry=_copy(4096, 1024), small=_copy(7, 50),
        bars=(Bar(1.0),), peers=("torch",),
    ),
    _sizes("add", _add),
    _sizes(f"softmax of {MATRIX_ROWS} rows", _softmax),
    Alike(
        name="C87 add of 1000 on 1 and 8 threads", group=GROUP, entries=dict.fromkeys(THREADS, _add(1000)),
        small={"1 thread": _add(100)}, bars=(Bar(1.5),), threads=THREADS, against="1 thread",
    ),
)  # fmt: skip
