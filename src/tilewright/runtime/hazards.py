"""Which commands of different streams are unordered and touch the same bytes.

A model of happens-before with one counter per stream, its layer. A clock says for every stream up to which layer its
work is known to be finished. A stream's clock grows by waiting for fences, which carry the clock of their signal, and
by what the host has waited for. A byte that another stream touched at a layer beyond the own clock is a conflict when
one of the two accesses writes. Nothing here depends on timing: the same program is refused or accepted every time.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilewright.core.abi import Usage

from .command import Access
from .fence import Fence

__all__ = ["Clock", "Conflict", "HazardTracker", "RangeMap", "Step"]

Clock = Mapping[int, int]

_TRIM_ABOVE = 64


@dataclass(frozen=True, slots=True)
class Step:
    """One command as the tracker sees it: waits, accesses, then signals."""

    accesses: Sequence[Access] = ()
    waits: Fence | None = None
    signals: Fence | None = None


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


class HazardTracker:
    """The happens-before model of one device. Not thread-safe: its caller holds the device's lock."""

    def __init__(self) -> None:
        self._host: dict[int, int] = {}
        self._streams: dict[int, dict[int, int]] = {}
        self._footprints: dict[int, dict[int, _Footprint]] = {}

    def admit(self, stream: int, steps: Sequence[Step]) -> Conflict | None:
        """Takes the next steps of a stream, or returns their first conflict and takes none."""
        clock = _joined(self._streams.get(stream, {}), self._host)
        layer = clock.get(stream, 0)
        clocks: list[dict[int, int]] = []
        for index, step in enumerate(steps):
            if step.waits is not None:
                clock = _joined(clock, step.waits.clock)
            conflict = self._conflict(stream, clock, index, step)
            if conflict is not None:
                return conflict
            clock = {**clock, stream: layer + index + 1}
            clocks.append(clock)
        for step, after in zip(steps, clocks, strict=True):
            self._record(stream, after[stream], step)
            if step.signals is not None:
                step.signals.clock = after
        self._streams[stream] = clock
        return None

    def clock(self, stream: int) -> Clock:
        """What is finished once everything enqueued on the stream is."""
        return self._streams.get(stream, {})

    def host_learns(self, clock: Clock) -> None:
        """The host waited: what `clock` says comes before all that is enqueued from now on, on any stream."""
        self._host = _joined(self._host, clock)

    def forget_buffer(self, handle: int) -> None:
        """The buffer was destroyed."""
        self._footprints.pop(handle, None)

    def stream_ended(self, stream: int) -> None:
        """Nothing more will come from the stream. Forgets it, unless the host has not waited for all of it."""
        if self._streams.get(stream, {}).get(stream, 0) > self._host.get(stream, 0):
            return
        for footprints in self._footprints.values():
            footprints.pop(stream, None)
        self._streams.pop(stream, None)

    def recorded(self, handle: int) -> int:
        """How many ranges are kept of the buffer's uses."""
        return sum(len(f.reads) + len(f.writes) for f in self._footprints.get(handle, {}).values())

    def _conflict(self, stream: int, clock: Clock, index: int, step: Step) -> Conflict | None:
        for access in step.accesses:
            others = self._footprints.get(access.handle, {}) if access.usage else {}
            for other, footprint in others.items():
                if other == stream:
                    continue
                found = footprint.beyond(clock.get(other, 0), access)
                if found is not None:
                    return Conflict(index, access, other, *found)
        return None

    def _record(self, stream: int, layer: int, step: Step) -> None:
        for access in step.accesses:
            if access.usage and access.begin < access.end:
                footprints = self._footprints.setdefault(access.handle, {})
                footprints.setdefault(stream, _Footprint()).record(access, layer, self._host.get(stream, 0))


def _joined(first: Clock, second: Clock) -> dict[int, int]:
    """The later of the two for every stream."""
    return {stream: max(first.get(stream, 0), second.get(stream, 0)) for stream in first.keys() | second.keys()}
