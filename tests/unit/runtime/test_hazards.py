"""Hazard tracking against a model that keeps one record per byte and every event of the past."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tilewright.core.abi import Usage
from tilewright.runtime.command import Access
from tilewright.runtime.fence import Fence
from tilewright.runtime.hazards import HazardTracker, RangeMap
from tilewright.runtime.monitor import Monitor

BYTES, BUFFERS, STREAMS, FENCES = 12, 2, 3, 2


@dataclass(frozen=True)
class Step:
    accesses: Sequence[Access] = ()
    waits: Fence | None = None
    signals: Fence | None = None

    @property
    def fenced(self) -> bool:
        return bool(self.waits or self.signals)


@given(st.lists(st.tuples(st.integers(0, BYTES), st.integers(0, BYTES)), max_size=20), st.integers(0, 20))
def test_a_range_map_is_one_number_per_byte(ranges: list[tuple[int, int]], forgotten: int) -> None:
    by_range, by_byte = RangeMap(), [0] * BYTES
    for layer, (begin, end) in enumerate(ranges, 1):
        by_range.assign(begin, end, layer)
        by_byte[begin:end] = [layer] * max(0, end - begin)
    for keep in (0, forgotten):
        by_range.forget(keep)
        by_byte = [layer if layer > keep else 0 for layer in by_byte]
        for begin in range(BYTES + 1):
            for end in range(BYTES + 1):
                found_begin, found_end, layer = by_range.newest(begin, end)
                assert layer == max(by_byte[begin:end], default=0)
                assert layer == 0 or set(by_byte[found_begin:found_end]) == {layer}
    assert len(by_range) <= BYTES


@dataclass
class Model:
    """Happens-before as sets: what each stream, fence and the host know to be finished."""

    known: dict[int, set[int]] = field(default_factory=dict[int, set[int]])
    fences: dict[int, set[int]] = field(default_factory=dict[int, set[int]])
    host: set[int] = field(default_factory=set[int])
    touched: list[tuple[int, int, int, int, Usage]] = field(default_factory=list[tuple[int, int, int, int, Usage]])
    serial: int = 0

    def admit_all(self, stream: int, steps: list[tuple[list[Access], int | None, int | None]]) -> bool:
        """All steps or, when one of them races, none."""
        before = deepcopy(self)
        if all(self.admit(stream, *step) for step in steps):
            return True
        vars(self).update(vars(before))
        return False

    def admit(self, stream: int, accesses: list[Access], waits: int | None, signals: int | None) -> bool:
        known = self.known.get(stream, set()) | self.host | self.fences.get(-1 if waits is None else waits, set())
        for access in accesses:
            for byte in range(access.begin, access.end):
                for serial, other, handle, at, usage in self.touched:
                    race = Usage.WRITE in usage | access.usage and (usage and access.usage)
                    if (handle, at) == (access.handle, byte) and race and other != stream and serial not in known:
                        return False
        self.serial += 1
        for access in accesses:
            cells = range(access.begin, access.end)
            self.touched += [(self.serial, stream, access.handle, byte, access.usage) for byte in cells]
        self.known[stream] = known | {self.serial}
        if signals is not None:
            self.fences[signals] = set(self.known[stream])
        return True


def some_access(handle: int, begin: int, size: int, usage: Usage) -> Access:
    return Access(handle, begin, min(BYTES, begin + size), usage, "it")


accesses = st.builds(
    some_access,
    st.integers(1, BUFFERS), st.integers(0, BYTES), st.integers(0, BYTES),
    st.sampled_from([Usage.NONE, Usage.READ, Usage.WRITE, Usage.READ_WRITE]),
)  # fmt: skip
optional_fence = st.none() | st.integers(0, FENCES - 1)
steps = st.tuples(st.lists(accesses, max_size=2), optional_fence, optional_fence)
command_lists = st.tuples(st.integers(1, STREAMS), st.lists(steps, min_size=1, max_size=3))
synchronizations = st.sampled_from([1, 2, 3, -1, -2, -3])  # two ways to say so


@given(st.lists(command_lists | synchronizations, max_size=20))
def test_the_tracker_agrees_with_the_model(events: "list[Any]") -> None:
    tracker, model, monitor = HazardTracker(), Model(), Monitor()
    fences: dict[int, Fence] = {}
    for event in events:
        if isinstance(event, int):
            tracker.host_waited(event) if event > 0 else tracker.host_learns(tracker.clock(-event))
            model.host |= model.known.get(abs(event), set())
            continue
        stream, commands = event
        staged, given = dict(fences), list[Step]()
        for touched, waits, signals in commands:
            waited = None if waits is None else staged.get(waits)
            fence = None
            if signals is not None:
                fence = staged[signals] = Fence(monitor)
            given.append(Step(touched, waited, fence))
        accepted = tracker.admit(stream, given) is None
        assert accepted == model.admit_all(stream, commands)
        fences = staged if accepted else fences


def access(begin: int, end: int, usage: Usage, handle: int = 1) -> Access:
    return Access(handle, begin, end, usage, "it")


def test_a_conflict_names_the_step_and_the_range() -> None:
    tracker = HazardTracker()
    assert tracker.admit(1, [Step([access(0, 8, Usage.WRITE)]), Step([access(4, 6, Usage.WRITE)])]) is None
    conflict = tracker.admit(2, [Step([access(8, 9, Usage.WRITE)]), Step([access(5, 8, Usage.READ)])])
    assert conflict is not None
    assert (conflict.index, conflict.stream, conflict.usage, conflict.theirs) == (1, 1, Usage.WRITE, (4, 6))


def test_a_refused_list_leaves_no_trace() -> None:
    tracker = HazardTracker()
    tracker.admit(1, [Step([access(0, 8, Usage.WRITE)])])
    assert tracker.admit(2, [Step([access(20, 30, Usage.WRITE)]), Step([access(0, 1, Usage.READ)])]) is not None
    assert tracker.admit(3, [Step([access(20, 30, Usage.WRITE)])]) is None


def test_a_second_wait_forgets_nothing_of_the_first() -> None:
    tracker, monitor = HazardTracker(), Monitor()
    first, second = Fence(monitor), Fence(monitor)
    tracker.admit(1, [Step([access(0, 8, Usage.WRITE)], signals=first)])
    tracker.admit(2, [Step([access(8, 16, Usage.WRITE)], signals=second)])
    waits = [Step(waits=first), Step(waits=second)]
    assert tracker.admit(3, [*waits, Step([access(0, 16, Usage.READ)])]) is None


def test_trimming_keeps_what_the_host_did_not_wait_for() -> None:
    tracker = HazardTracker()
    tracker.admit(1, [Step([access(1000, 1001, Usage.WRITE)])])
    tracker.host_learns(tracker.clock(1))
    for at in range(100):
        tracker.admit(1, [Step([access(2 * at, 2 * at + 1, Usage.WRITE)])])
    assert tracker.recorded(1) == 100
    for at in range(100):
        assert tracker.admit(2, [Step([access(2 * at, 2 * at + 1, Usage.READ)])]) is not None


def test_a_stream_does_not_race_with_itself() -> None:
    tracker = HazardTracker()
    for _ in range(3):
        assert tracker.admit(1, [Step([access(0, 8, Usage.READ_WRITE)])]) is None


def test_a_destroyed_buffer_is_forgotten() -> None:
    tracker = HazardTracker()
    tracker.admit(1, [Step([access(0, 8, Usage.WRITE)])])
    tracker.forget_buffer(1)
    assert tracker.admit(2, [Step([access(0, 8, Usage.WRITE)])]) is None


def test_an_ended_stream_is_forgotten_only_when_the_host_waited() -> None:
    tracker = HazardTracker()
    tracker.admit(1, [Step([access(0, 8, Usage.WRITE)])])
    tracker.stream_ended(1)
    assert tracker.admit(2, [Step([access(0, 8, Usage.READ)])]) is not None
    tracker.host_learns(tracker.clock(1))
    tracker.stream_ended(1)
    assert tracker.recorded(1) == 0
    assert tracker.admit(2, [Step([access(0, 8, Usage.READ)])]) is None


def test_records_do_not_pile_up_behind_synchronizations() -> None:
    tracker = HazardTracker()
    for number in range(2000):
        tracker.admit(1, [Step([access(3 * number, 3 * number + 1, Usage.WRITE)])])
        tracker.host_learns(tracker.clock(1))
        assert len(getattr(tracker, "_streams")[1].recent) <= 64  # noqa: B009
    assert tracker.recorded(1) <= 65


def test_a_command_that_comes_again_counts_with_its_newest_layer() -> None:
    tracker, again, fence = HazardTracker(), [access(0, 8, Usage.WRITE)], Fence(Monitor())
    tracker.admit(1, [Step(again, signals=fence)])
    tracker.admit(1, [Step([access(4, 12, Usage.READ)])])
    tracker.admit(1, [Step(again)])
    assert tracker.admit(2, [Step([access(0, 1, Usage.READ)], waits=fence)]) is not None
    assert tracker.recorded(1) == 2


def test_a_command_that_came_before_and_not_again_stays_before() -> None:
    tracker, again, fence = HazardTracker(), [access(0, 8, Usage.WRITE)], Fence(Monitor())
    for _ in range(3):
        tracker.admit(1, [Step(again)])
    tracker.admit(1, [Step([access(8, 12, Usage.WRITE)], signals=fence)])
    assert tracker.admit(2, [Step([access(0, 12, Usage.WRITE)], waits=fence)]) is None


def test_of_several_streams_the_first_to_use_the_buffer_is_named() -> None:
    tracker = HazardTracker()
    tracker.admit(1, [Step([access(0, 1, Usage.READ, handle=2)])])
    tracker.admit(2, [Step([access(0, 8, Usage.READ)])])
    tracker.admit(1, [Step([access(0, 8, Usage.READ)])])
    conflict = tracker.admit(3, [Step([access(0, 8, Usage.WRITE)])])
    assert conflict is not None
    assert conflict.stream == 2


def test_a_destroyed_buffer_does_not_come_back() -> None:
    tracker = HazardTracker()
    tracker.admit(1, [Step([access(0, 8, Usage.WRITE), access(0, 8, Usage.WRITE, handle=2)])])
    tracker.forget_buffer(1)
    assert tracker.admit(2, [Step([access(0, 8, Usage.WRITE, handle=2)])]) is not None
    assert (tracker.recorded(1), tracker.recorded(2)) == (0, 1)
