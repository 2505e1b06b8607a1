"""What a planner may know of a machine. A record, so that plans are pure functions and testable without hardware."""

from dataclasses import dataclass
from enum import IntEnum
from math import floor, log10

__all__ = ["GENERIC_AVX2", "GENERIC_AVX512", "GENERIC_NEON", "Level", "Machine", "Timings", "preferred"]

_KIB = 1024
_MIB = 1024 * _KIB
_STEPS = (1.0, 1.2, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.3, 8.0)


class Level(IntEnum):
    """Where data lie, nearest first."""

    L1 = 0
    L2 = 1
    L3 = 2
    MEMORY = 3

    def __str__(self) -> str:
        return "memory" if self is Level.MEMORY else self.name


def preferred(figure: float) -> float:
    """The nearest of ten steps a decade, each about a quarter more than the one before.

    So what is measured twice is the same figure, and a plan that follows from it the same plan. 0 for what is not
    above 0.
    """
    if not figure > 0:
        return 0.0
    decade = 10.0 ** floor(log10(figure))
    step = min((*_STEPS, 10.0), key=lambda each: abs(log10(each * decade / figure)))
    return float(f"{step * decade:.3g}")


@dataclass(frozen=True, slots=True)
class Timings:
    """What the steps of one core take, in nanoseconds. Vectors are native ones.

    arithmetic:    a fused multiply-add, while many are under way.
    division:      a division; a root counts the same.
    expensive:     an exponential; other functions count as so many of them.
    levels:        a vector that is loaded or stored, by where it lies: the three caches, then memory.
    gathered_lane: an element that is loaded apart.
    latency:       from one multiply-add to the next that needs its result.
    broadcast:     an element that is loaded into all lanes.
    apart:         what a vector takes longer that lies in another page than the one before.
    task:          handing out one task of a launch.
    wake:          until a sleeping worker works.
    relaunch:      from the end of one launch to the next, while workers are awake.
    source:        where the figures come from, for a reader.
    """

    arithmetic: float
    division: float
    expensive: float
    levels: tuple[float, float, float, float]
    gathered_lane: float
    task: float = 40.0
    wake: float = 10_000.0
    latency: float = 1.2
    broadcast: float = 0.16
    apart: float = 2.0
    relaunch: float = 2_000.0
    source: str = "typical figures"

    def __str__(self) -> str:
        places = ", ".join(f"{level} {figure:.3g}" for level, figure in zip(Level, self.levels, strict=True))
        return (
            f"multiply-add {self.arithmetic:.3g}, chained {self.latency:.3g}, division {self.division:.3g},"
            f" exponential {self.expensive:.3g}, vector from {places}, in another page {self.apart:.3g} more,"
            f" broadcast element {self.broadcast:.3g}, gathered element {self.gathered_lane:.3g},"
            f" task {self.task:.3g}, waking {self.wake:.6g}, another launch {self.relaunch:.6g} ns ({self.source})"
        )


@dataclass(frozen=True, slots=True)
class Machine:
    """A CPU as the planner sees it.

    name:             how reports call it.
    cpu:              LLVM's name of the processor.
    features_digest:  of LLVM's feature list; part of every cache key.
    vector_bits:      width of the native vector registers.
    vector_registers: how many of them a function may use.
    has_masks:        masked loads and stores cost about as much as plain ones; without it tails need another form.
    fma_pipes:        fused multiply-adds of full width started in one cycle.
    l1_bytes, l2_bytes, l3_bytes: data caches of one core, the last one as a core sees it (shared). 0: none.
    cores:            cores this process may use.
    timings:          what its steps take.
    cache_line:       bytes.
    """

    name: str
    cpu: str
    features_digest: str
    vector_bits: int
    vector_registers: int
    has_masks: bool
    fma_pipes: int
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    cores: int
    timings: Timings
    cache_line: int = 64

    def lanes(self, element_bits: int) -> int:
        """Elements of a native vector."""
        return self.vector_bits // element_bits

    def level_of(self, size_bytes: float) -> Level:
        """The nearest cache that holds so much."""
        sizes = (self.l1_bytes, self.l2_bytes, self.l3_bytes)
        return next((level for level, size in zip(Level, sizes, strict=False) if size_bytes <= size), Level.MEMORY)


GENERIC_AVX512 = Machine(
    name="generic AVX-512",
    cpu="x86-64-v4",
    features_digest="",
    vector_bits=512,
    vector_registers=32,
    has_masks=True,
    fma_pipes=2,
    l1_bytes=32 * _KIB,
    l2_bytes=_MIB,
    l3_bytes=32 * _MIB,
    cores=4,
    timings=Timings(0.16, 3.2, 4.0, (0.16, 0.63, 2.0, 5.0), 0.4),
)
GENERIC_AVX2 = Machine(
    name="generic AVX2",
    cpu="x86-64-v3",
    features_digest="",
    vector_bits=256,
    vector_registers=16,
    has_masks=True,
    fma_pipes=2,
    l1_bytes=32 * _KIB,
    l2_bytes=512 * _KIB,
    l3_bytes=16 * _MIB,
    cores=4,
    timings=Timings(0.16, 1.6, 2.5, (0.16, 0.4, 1.0, 2.5), 0.4),
)
GENERIC_NEON = Machine(
    name="generic NEON",
    cpu="neoverse-n1",
    features_digest="",
    vector_bits=128,
    vector_registers=32,
    has_masks=False,
    fma_pipes=2,
    l1_bytes=64 * _KIB,
    l2_bytes=_MIB,
    l3_bytes=32 * _MIB,
    cores=4,
    timings=Timings(0.16, 1.6, 1.6, (0.16, 0.25, 0.63, 1.2), 0.4),
)
