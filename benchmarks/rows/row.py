"""What a row of the table is: a race against peers, a comparison of our own variants, or a cost."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from examples.gallery.entry import Entry

__all__ = ["LIBRARIES", "OURS", "PEAK", "Alike", "Bar", "Cost", "Race", "Row"]

OURS, PEAK = "tilewright", "peak"
LIBRARIES = ("numpy", "torch", "torch.compile", "jax", "numba")


@dataclass(frozen=True, slots=True)
class Bar:
    """What a figure must not exceed. `starred` bars lie beyond what prototypes reached.

    threads: the number of threads it holds for; 0: every number.
    """

    limit: float
    starred: bool = False
    threads: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """Our kernel and what others call the same job. The figure is our time over that of the fastest peer.

    job:        what the peers' modules call it.
    entry:      the kernel with arguments of the measured shapes; `small` the same for tests.
    flops:      floating-point operations of one call, for those who count them.
    peak_share: the least part of the peak of fused multiply-adds to reach.
    cold:       caches are swept between samples, and a sample is one call.
    """

    name: str
    group: str
    job: str
    entry: Entry
    small: Entry
    bars: tuple[Bar, ...]
    peers: tuple[str, ...] = LIBRARIES
    flops: int = 0
    peak_share: float = 0.0
    cold: bool = False
    quick: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Alike:
    """Several of our own that should take the same time. The figure is the slowest over the fastest.

    work:    elements of each variant, where they differ: times are compared an element.
    threads: threads of each variant, where they differ; each then has a process of its own.
    against: the variant that the others are compared with; by default the fastest.
    """

    name: str
    group: str
    entries: Mapping[str, Entry]
    small: Mapping[str, Entry]
    bars: tuple[Bar, ...]
    work: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    threads: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    against: str = ""
    quick: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Something that takes time or memory and has no peer. `measure` takes a number of samples and gives them.

    threads: the only number of threads at which it is measured; 0: 1, as it does not depend on it.
    """

    name: str
    group: str
    unit: str
    measure: Callable[[int], list[float]]
    bars: tuple[Bar, ...]
    threads: int = 0
    quick: bool = False


Row = Race | Alike | Cost
