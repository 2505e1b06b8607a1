"""What a row of the table is: a race against peers, a comparison of our own variants, or a cost."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from examples.gallery.entry import Entry
from tilewright.tile import TirxOptions

__all__ = ["AGAIN", "LIBRARIES", "OPENBLAS", "OURS", "PEAK", "Alike", "Artifact", "Bar", "Cost", "Race", "Row", "Trial"]

OURS, PEAK, OPENBLAS = "tilewright", "peak", "OpenBLAS"
AGAIN = " again"
LIBRARIES = ("numpy", "torch", "torch.compile", "jax", "numba")


@dataclass(frozen=True, slots=True)
class Bar:
    """What a figure must not exceed. `starred` bars lie beyond what prototypes reached.

    threads: the number of threads it holds for; 0: every number. unit: of a bar on a difference; empty: on a ratio.
    """

    limit: float
    starred: bool = False
    threads: int = 0
    unit: str = ""


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


@dataclass(frozen=True, slots=True)
class Artifact:
    """A kernel of ours through TVM, compiled once and kept.

    constants: of the compiler, by module and name, where a pass has no option of its own.
    """

    options: TirxOptions = TirxOptions()  # noqa: RUF009  a frozen record
    constants: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Machine code of ours beside two others, which take turns in all six orders. The first of `ours` is judged.

    ours:    artifacts by name. others: libraries, or OpenBLAS called directly. Where these are two in all, the second
             one takes part again under another name, so that identical code shows the noise.
    bars:    on the time of the first over that of the second, or on their difference.
    stated:  how many times faster the specification measured the first.
    cold:    as of a race.
    """

    name: str
    group: str
    job: str
    entry: Entry
    small: Entry
    ours: Mapping[str, Artifact]
    others: tuple[str, ...] = ()
    bars: tuple[Bar, ...] = ()
    stated: tuple[float, float] | None = None
    threads: int = 1
    cold: bool = False
    quick: bool = False

    @property
    def contestants(self) -> tuple[str, ...]:
        """The judged one first."""
        names = [*self.ours, *self.others]
        return (*names, *(name + AGAIN for name in names[1:] if len(names) == 2))


Row = Race | Alike | Cost | Trial
