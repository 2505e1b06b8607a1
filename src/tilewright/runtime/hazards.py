"""Which commands of different streams are unordered and touch the same bytes.

A model of happens-before with one counter per stream, its layer. A clock says for every stream up to which layer its
work is known to be finished. A stream's clock grows by waiting for fences, which carry the clock of their signal, and
by what the host has waited for. A byte that another stream touched at a layer beyond the own clock is a conflict when
one of the two accesses writes. Nothing here depends on timing: the same program is refused or accepted every time.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Protocol

from tilewright.core.abi import Usage

from .command import Access
from .fence import Fence

__all__ = ["Clock", "Conflict", "HazardTracker", "RangeMap", "Step"]

Clock = Mapping[int, int]

_TRIM_ABOVE = 64
_RECENT = 64


class Step(Protocol):
    """One command as the tracker sees it: waits, accesses, then signals. `fenced`: it waits or signals."""

    @property
    def fenced(self) -> bool: ...
    @property
    def accesses(self) -> Sequence[Access]: ...
    @property
    def waits(self) -> Fence | None: ...
    @property
    def signals(self) -> Fence | None: ...


@dataclass(frozen=True, slots=True)
class Conflict:
    """`access`, of step number `index`, meets `theirs` (bytes begin to end) of another stream unordered."""

    index: int
    access: Access
    stream: int
    usage: Usage
    theirs: tuple[int, int]


class RangeMap:
    """For every byte the newest layer assigned to it, as sorted disjoint segments."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._segments: list[tuple[int, int, int]] = []

    def __len__(self) -> int:
        return len(self._segments)

    def assign(self, begin: int, end: int, layer: int) -> None:
        """Sets the bytes `begin` to `end` (exclusive) to `layer`, which no byte exceeds yet."""
        if begin >= end:
            return
        first, last = self._span(begin, end)
        pieces = [(begin, end, layer)]
        if first < last:
            left_begin, left_end, left = self._segments[first]
            right_begin, right_end, right = self._segments[last - 1]
            if left_begin < begin:
                pieces.insert(0, (left_begin, min(left_end, begin), left))
            if right_end > end:
                pieces.append((max(right_begin, end), right_end, right))
        self._segments[first:last] = pieces
        self._begins[first:last] = [piece[0] for piece in pieces]

    def newest(self, begin: int, end: int) -> tuple[int, int, int]:
        """The overlapping segment with the newest layer as (begin, end, layer); layer 0 when there is none."""
        first, last = self._span(begin, end)
        return max(self._segments[first:last], key=lambda segment: segment[2], default=(begin, begin, 0))

    def forget(self, layer: int) -> None:
        """Drops the segments up to `layer`."""
        self._segments = [segment for segment in self._segments if segment[2] > layer]
        self._begins = [segment[0] for segment in self._segments]

    def _span(self, begin: int, end: int) -> tuple[int, int]:
        """The indices of the segments that overlap `begin` to `end`; an empty range overlaps nothing."""
        if begin >= end:
            return 0, 0
        first = bisect_right(self._begins, begin) - 1
        if first < 0 or self._segments[first][1] <= begin:
            first += 1
        return first, bisect_left(self._begins, end)


class _Footprint:
    """What one stream did to one buffer."""

    def __init__(self) -> None:
        self.reads = RangeMap()
        self.writes = RangeMap()

    def record(self, access: Access, layer: int, finished: int) -> None:
        touched = {Usage.READ: self.reads, Usage.WRITE: self.writes}
        for usage, ranges in touched.items():
            if usage in access.usage:
                ranges.assign(access.begin, access.end, layer)
                if len(ranges) > _TRIM_ABOVE:
                    ranges.forget(finished)

    def beyond(self, layer: int, access: Access) -> tuple[Usage, tuple[int, int]] | None:
        """A use of bytes of `access` after `layer` that conflicts with it."""
        others = ((Usage.WRITE, self.writes), (Usage.READ, self.reads))
        for usage, ranges in others if Usage.WRITE in access.usage else others[:1]:
            begin, end, newest = ranges.newest(access.begin, access.end)
            if newest > layer:
                return usage, (begin, end)
        return None


@dataclass(slots=True)
class _Use:
    """Accesses, and the newest command that makes them."""

    accesses: Sequence[Access]
    layer: int


class _Stream:
    """What one stream did, and what it knows of the others.

    `known` is a clock, whose entry for the stream itself is `layer`'s business; it is replaced, never changed. `news`
    says how much of what the host learned has gone into it.
    `recent` are the accesses of its latest commands, by their identity, with their newest layer: a command that comes
    again costs an entry here. The ranges are brought up to date only when another stream's commands meet them.
    """

    __slots__ = ("known", "layer", "news", "number", "recent")

    def __init__(self, number: int, layer: int) -> None:
        self.number = number
        self.layer = layer
        self.known: Clock = {}
        self.news = 0
        self.recent: dict[int, _Use] = {}

    def clock(self) -> Clock:
        return {**self.known, self.number: self.layer}


class HazardTracker:
    """The happens-before model of one device. Not thread-safe: its caller holds the device's lock."""

    def __init__(self) -> None:
        self._host: dict[int, int] = {}
        self._news = 0  # how often the host learned something
        self._streams: dict[int, _Stream] = {}
        self._footprints: dict[int, dict[int, _Footprint]] = {}

    def admit(self, stream: int, steps: Sequence[Step]) -> Conflict | None:
        """Takes the next steps of a stream, or returns their first conflict and takes none."""
        mine = self._streams.get(stream) or self._enter(stream)
        if len(self._streams) > 1:  # else there is nobody of whom to know anything
            if mine.news != self._news:
                mine.known, mine.news = _joined(mine.known, self._host), self._news
            conflict = self._conflict(mine, steps)
            if conflict is not None:
                return conflict
        for step in steps:
            mine.layer += 1
            accesses = step.accesses
            use = mine.recent.get(id(accesses))
            if use is not None:
                use.layer = mine.layer
            elif accesses:
                self._record(mine, accesses)
            if step.fenced:
                self._pass_on(mine, step)
        return None

    def clock(self, stream: int) -> Clock:
        """What is finished once everything enqueued on the stream is."""
        mine = self._streams.get(stream)
        return {} if mine is None else mine.clock()

    def host_learns(self, clock: Clock) -> None:
        """The host waited: what `clock` says comes before all that is enqueued from now on, on any stream."""
        host = self._host
        for stream, layer in clock.items():
            if layer > host.get(stream, 0):
                host[stream] = layer
                self._news += 1

    def host_waited(self, stream: int) -> None:
        """As `host_learns` of the stream's clock."""
        mine = self._streams.get(stream)
        if mine is None:
            return
        if mine.known:
            self.host_learns(mine.known)
        if mine.layer > self._host.get(stream, 0):
            self._host[stream] = mine.layer
            self._news += 1

    def forget_buffer(self, handle: int) -> None:
        """The buffer was destroyed."""
        self._footprints.pop(handle, None)

    def stream_ended(self, stream: int) -> None:
        """Nothing more will come from the stream. Forgets it, unless the host has not waited for all of it."""
        if self.clock(stream).get(stream, 0) > self._host.get(stream, 0):
            return
        for footprints in self._footprints.values():
            footprints.pop(stream, None)
        self._streams.pop(stream, None)

    def recorded(self, handle: int) -> int:
        """How many ranges are kept of the buffer's uses."""
        for stream in self._streams.values():
            self._fold(stream)
        return sum(len(f.reads) + len(f.writes) for f in self._footprints.get(handle, {}).values())

    def _enter(self, stream: int) -> _Stream:
        entered = self._streams[stream] = _Stream(stream, self._host.get(stream, 0))
        return entered

    def _conflict(self, mine: _Stream, steps: Sequence[Step]) -> Conflict | None:
        for other in self._streams.values():
            if other is not mine and other.layer > mine.known.get(other.number, 0):
                self._fold(other)
        known = mine.known
        for index, step in enumerate(steps):
            if step.waits is not None:
                known = _joined(known, step.waits.clock)
            conflict = self._conflict_of(mine, known, index, step)
            if conflict is not None:
                return conflict
        return None

    def _conflict_of(self, mine: _Stream, known: Clock, index: int, step: Step) -> Conflict | None:
        for access in step.accesses:
            others = self._footprints.get(access.handle, {}) if access.usage else {}
            for other, footprint in others.items():
                if other == mine.number:
                    continue
                found = footprint.beyond(known.get(other, 0), access)
                if found is not None:
                    return Conflict(index, access, other, *found)
        return None

    def _pass_on(self, mine: _Stream, step: Step) -> None:
        if step.waits is not None:
            mine.known = _joined(mine.known, step.waits.clock)
        if step.signals is not None:
            step.signals.clock = mine.clock()

    def _record(self, mine: _Stream, accesses: Sequence[Access]) -> None:
        if len(mine.recent) >= _RECENT:
            self._fold(mine)
        for access in accesses:
            if access.usage and access.begin < access.end:
                self._footprints.setdefault(access.handle, {}).setdefault(mine.number, _Footprint())
        mine.recent[id(accesses)] = _Use(accesses, mine.layer)

    def _fold(self, stream: _Stream) -> None:
        """Brings the ranges up to date, except those of buffers that were destroyed meanwhile."""
        if not stream.recent:
            return
        finished = self._host.get(stream.number, 0)
        for use in sorted(stream.recent.values(), key=attrgetter("layer")):
            for access in use.accesses:
                footprint = self._footprints.get(access.handle, {}).get(stream.number)
                if footprint is not None and access.usage:
                    footprint.record(access, use.layer, finished)
        stream.recent.clear()


def _joined(first: Clock, second: Clock) -> Clock:
    """The later of the two for every stream."""
    joined = dict(first)
    for stream, layer in second.items():
        if layer > joined.get(stream, 0):
            joined[stream] = layer
    return joined
