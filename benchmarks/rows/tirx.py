"""Trials of the lowering TIRX: each of its options against its absence, and its best against libraries.

Shapes and tiles of options are those for which the specification gives figures.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from benchmarks.rows.folds import residual_layer_norm_entry, row_sum_entry, softmax_entry
from benchmarks.rows.products import product
from benchmarks.rows.row import OPENBLAS, OURS, Artifact, Bar, Trial
from examples.gallery.elementwise import add
from examples.gallery.entry import Entry, Result, normal
from tilewright.tile import CpuMathBackend, CpuMatrixBackend, SharedSSA, TirxOptions, TirxPlanner
from tilewright.tools.running_error import exact

__all__ = ["BESIDE", "OPTIONS", "PROVIDERS", "TRIALS"]

OPTIONS, PROVIDERS, BESIDE = "options", "calls of OpenBLAS", "beside libraries"
ON, OFF = "with", "without"
LIBRARIES = ("numpy", "torch")
TILE = (4, 16, 32)  # of the specification's figures
BEST_TILES = {256: (16, 16, 32), 1024: (512, 256, 128)}  # of the products beside libraries
SMALL = (9, 35, 40)  # of tests, ragged under every tile
REGULAR = ((128, 128, 128), (256, 256, 256), (512, 512, 512), (256, 1024, 128), (1024, 128, 256))
RAGGED = {(127, 193, 61): 1.279, (513, 257, 129): 1.818}
SUMS = {(1, 127): 2.708, (17, 257): 5.828, (128, 1024): 4.581, (64, 4096): 6.123}
SOFTMAXES = {(1, 127): 4.357, (17, 257): 2.098, (128, 1024): 5.460, (64, 4096): 3.753}
LAYER_NORMS = ((17, 257), (128, 1024))
CBLAS_SHAPES = (*((n, n, n) for n in (32, 128, 256, 512, 1024)), (256, 1024, 128), (513, 257, 129))

WIDE = TirxPlanner(max_cpu_stack_bytes=65536, max_cpu_vector_lanes=128)
ONE_ROW = TirxPlanner(max_cpu_stack_bytes=65536)
PACKED = TirxOptions(noalias=True, auto_vectorize=True, planner=WIDE)
ROWS_ALONE = replace(PACKED, planner=ONE_ROW)
BEST = replace(PACKED, forward_readonly_tile_loads=True)
HEAP = TirxPlanner(max_cpu_vector_lanes=128)
BEST_OPTIONS = {256: BEST, 1024: PACKED}  # a matrix that leaves the second cache is better copied by tiles
VECTOR = TirxOptions(cpu_math_backend=CpuMathBackend.VECTOR)
CBLAS = TirxOptions(noalias=True, cpu_matrix_backend=CpuMatrixBackend.CBLAS)
NOT_AHEAD: Mapping[str, int] = MappingProxyType({"tilewright.bridge.tirx.ahead.MOST_BYTES": 0})
UNGUARDED: Mapping[str, int] = MappingProxyType({"tilewright.bridge.tirx.guards.MOST_GUARDS": 0})

Sized = Callable[..., Entry]


def _gemm(*shape: int) -> Entry:
    return product(*shape, tile=TILE)


def _best(n: int, bar: float) -> Trial:
    """A product beside libraries, in tiles that its name says."""
    tile = BEST_TILES[n]
    return _beside(
        f"all options: gemm {n}x{n}x{n}, tiles {_size(tile)}", "gemm", product(n, n, n, tile=tile),
        product(*SMALL, tile=tile), BEST_OPTIONS[n], Bar(bar), quick=n == 256,
    )  # fmt: skip


def _add(m: int, n: int) -> Entry:
    return Entry(add, (normal(m, n), normal(m, n)), (Result((m, n)),), lambda x, y: exact(x + y))


def _size(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def _option(
    option: str, what: str, made: Sized, shape: tuple[int, ...], on: TirxOptions, off: TirxOptions | Artifact,
    *, stated: tuple[float, float] | None = None, **more: Any,
) -> Trial:  # fmt: skip
    """An option with and without. What the specification states is the bar."""
    without = off if isinstance(off, Artifact) else Artifact(off)
    return Trial(
        name=f"{option}: {what} {_size(shape)}",
        group=OPTIONS,
        job=what,
        entry=made(*shape),
        small=made(*SMALL[: len(shape)]),
        ours=MappingProxyType({ON: Artifact(on), OFF: without}),
        bars=() if stated is None else (Bar(round(1 / stated[0], 3)),),
        stated=stated,
        **more,
    )


def _beside(what: str, job: str, entry: Entry, small: Entry, options: TirxOptions, *bars: Bar, **more: Any) -> Trial:
    return Trial(
        name=what, group=BESIDE, job=job, entry=entry, small=small, bars=bars, others=LIBRARIES,
        ours=MappingProxyType({OURS: Artifact(options)}), **more,
    )  # fmt: skip


def _cblas(shape: tuple[int, int, int]) -> Trial:
    """From 128 on a ratio, below the time that the call costs."""
    bar = Bar(1.05) if min(shape) >= 128 else Bar(2.0, unit="µs")
    return Trial(
        name=f"CBLAS: gemm {_size(shape)}", group=PROVIDERS, job="gemm", entry=product(*shape), small=product(*SMALL),
        ours=MappingProxyType({OURS: Artifact(CBLAS)}), others=(OPENBLAS,), bars=(bar,),
        quick=shape[0] in {32, 256},
    )  # fmt: skip


TRIALS: tuple[Trial, ...] = (
    *(
        _option("forward_readonly_tile_loads", "gemm", _gemm, shape, BEST, PACKED, stated=(1.45, 1.76),
                quick=shape == (128, 128, 128))
        for shape in REGULAR
    ),
    *(
        _option("guard specialisation", "gemm", _gemm, shape, BEST, Artifact(BEST, UNGUARDED), stated=(times, times),
                quick=shape == (127, 193, 61))
        for shape, times in RAGGED.items()
    ),
    *(
        _option("cpu_math_backend=VECTOR", "row sum", row_sum_entry, shape, VECTOR, TirxOptions(), stated=(2.71, 6.12),
                quick=shape == (17, 257))
        for shape in SUMS
    ),
    *(
        _option("cpu_math_backend=VECTOR", "softmax", softmax_entry, shape, VECTOR, TirxOptions(), stated=(2.10, 5.46),
                quick=shape == (17, 257))
        for shape in SOFTMAXES
    ),
    *(
        _option("window=2", "gemm", _gemm, (n, n, n), PACKED, Artifact(PACKED, NOT_AHEAD), quick=n == 256)
        for n in (256, 1024)
    ),
    _option("window=2, tiles of 64", "gemm", product, (1024, 1024, 1024), PACKED, Artifact(PACKED, NOT_AHEAD)),
    _option("cpu_math_backend=VECTOR", "add", _add, (17, 257), VECTOR, TirxOptions()),
    _option("noalias", "gemm", _gemm, (256, 256, 256), PACKED, replace(PACKED, noalias=False)),
    _option("cpu_matrix_backend=CBLAS", "gemm", _gemm, (256, 256, 256), CBLAS, TirxOptions()),
    *(
        _option("max_cpu_vector_lanes=128", "gemm", _gemm, (n, n, n), BEST, replace(BEST, planner=ONE_ROW))
        for n in (256, 512)
    ),
    _option("auto_vectorize", "gemm", _gemm, (256, 256, 256), ROWS_ALONE, replace(ROWS_ALONE, auto_vectorize=False)),
    _option("auto_vectorize", "add", _add, (17, 257), ROWS_ALONE, replace(ROWS_ALONE, auto_vectorize=False)),
    _option("max_cpu_stack_bytes=65536", "gemm", _gemm, (32, 32, 32), PACKED, replace(PACKED, planner=HEAP)),
    _option("max_cpu_stack_bytes=65536", "gemm", _gemm, (256, 256, 256), PACKED,
            replace(PACKED, planner=HEAP)),
    _option("min_cpu_parallel_tasks=64", "add", _add, (17, 257), TirxOptions(),
            TirxOptions(planner=TirxPlanner(min_cpu_parallel_tasks=1)), threads=2),
    *(
        _option("shared_ssa=EXPENSIVE_ONLY", "residual layer norm", residual_layer_norm_entry, shape,
                replace(BEST, shared_ssa=SharedSSA.EXPENSIVE_ONLY), BEST)
        for shape in LAYER_NORMS
    ),
    *map(_cblas, CBLAS_SHAPES),
    _beside("reference loops: gemm 256x256x256", "gemm", _gemm(256, 256, 256), _gemm(*SMALL), TirxOptions(),
            quick=True),
    _beside("reference loops: softmax 256x256", "softmax", softmax_entry(256, 256), softmax_entry(9, 35),
            TirxOptions()),
    _beside("reference loops: row sum 128x1024", "row_sum", row_sum_entry(128, 1024), row_sum_entry(9, 35),
            TirxOptions()),
    _best(256, 1.0),
    _best(1024, 1.1),
    _beside("VECTOR: softmax 1024x1024", "softmax", softmax_entry(1024, 1024), softmax_entry(9, 35), VECTOR, Bar(0.4),
            quick=True),
    _beside("VECTOR: softmax 1024x1024, from memory", "softmax", softmax_entry(1024, 1024), softmax_entry(9, 35),
            VECTOR, cold=True),
    _beside("VECTOR: row sum 1024x1024", "row_sum", row_sum_entry(1024, 1024), row_sum_entry(9, 35), VECTOR,
            cold=True),
)  # fmt: skip
