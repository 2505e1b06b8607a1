"""The generated entry of direct calls: it serves what it was told of, and does nothing at all for everything else."""

import gc
import sys
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import CellType
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import tile
from tilewright.backends.simd import direct
from tilewright.backends.simd.device import SIMDDevice
from tilewright.backends.simd.direct_layout import ARRAY, CAPACITY
from tilewright.backends.simd.shader import DirectCode, SIMDShader
from tilewright.compile.direct import looks_of
from tilewright.runtime.direct import DirectCall, DirectTable, Identity
from tilewright.runtime.shader import Shader
from tilewright.tile import ConstView1, View1, axis, cdiv, coord, f32, parallel, shape


@tile.kernel
def add(x: ConstView1[f32], y: ConstView1[f32], z: View1[f32]):
    g, i = axis("g", cdiv(x.shape[0], 64)), axis("i", 64)
    for nest in parallel(shape(g)):
        at = nest.index() * 64
        z.at(coord(at), shape(i)).store(x[coord(at), shape(i)] + y[coord(at), shape(i)])


@tile.kernel
def biased(x: ConstView1[f32], bias: ConstView1[f32] | None, y: View1[f32]):
    g, i = axis("g", 1), axis("i", x.shape[0])
    for nest in parallel(shape(g)):
        value = x[coord(nest.index()), shape(i)]
        y.at(coord(nest.index()), shape(i)).store(value if bias is None else value + bias[coord(0), shape(i)])


@tile.kernel
def twice_reversed(x: ConstView1[f32], y: View1[f32]):
    g, i = axis("g", 1), axis("i", x.shape[0])
    for nest in parallel(shape(g)):
        ordered = tile.sort(x[coord(nest.index()), shape(i)], i)
        y.at(coord(nest.index()), shape(i)).store(ordered + ordered)


def arrays(n: int = 17) -> list[Any]:
    return [np.arange(n, dtype=np.float32), np.ones(n, np.float32), np.zeros(n, np.float32)]


def code_of(shader: Shader) -> DirectCode:
    native = shader.native
    assert isinstance(native, SIMDShader)
    return native.direct_code()


def compiled(kernel: tile.TileKernel, given: list[Any]) -> Shader:
    shapes = [None if each is None else tile.tensor_shape(*each.shape) for each in given]
    return tile.compile(tw.create_device("simd"), kernel.capture(*shapes))


def table() -> DirectTable:
    made = SIMDDevice().create_direct_table()
    assert made is not None
    return made


def tell(of: DirectTable, kernel: tile.TileKernel, given: list[Any], *identities: Identity) -> Shader:
    looks = looks_of(given, kernel.signature)
    assert looks is not None
    shader = compiled(kernel, given)
    of.add(shader.native, DirectCall(looks, identities, shader))
    return shader


def serving(kernel: tile.TileKernel, given: list[Any], *identities: Identity) -> Callable[..., bool]:
    made = table()
    tell(made, kernel, given, *identities)
    return made.entry


def test_it_runs_what_it_knows() -> None:
    entry = serving(add, arrays())
    for start in range(3):
        x, y, z = arrays()
        assert entry(x[:] + np.float32(start), y, z) is True
        assert np.array_equal(z, x + start + 1)


class Another(np.ndarray[Any, Any]):
    """Arrays of a class of their own may mean anything."""


def _misaligned(like: Any) -> Any:
    memory = np.zeros(like.nbytes + 1, np.uint8)
    return np.ndarray(like.shape, like.dtype, memory.data, 1)


def _frozen(like: Any) -> Any:
    copy = like.copy()
    copy.flags.writeable = False
    return copy


OTHERS: dict[str, Callable[[Any], Any]] = {
    "element type": lambda a: a.astype(np.float64),
    "integers of the same size": lambda a: a.astype(np.int32),
    "byte order": lambda a: a.astype(">f4"),
    "extent": lambda a: a[:-1].copy(),
    "rank": lambda a: a.reshape(1, -1),
    "no axes": lambda _: np.float32(1.0).reshape(()),
    "stride": lambda a: np.repeat(a, 2)[::2],
    "backwards": lambda a: a[::-1],
    "class": lambda a: a.view(Another),
    "misaligned": _misaligned,
    "absent": lambda _: None,
    "number": lambda _: 3,
    "list": lambda a: a.tolist(),
    "buffer": memoryview,
    "array scalar": lambda a: a[0],
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("place", [0, 2])
def test_it_leaves_every_other_look_to_python(other: str, place: int) -> None:
    entry = serving(add, arrays())
    given = arrays()
    kept = given[2].copy()
    given[place] = OTHERS[other](given[place])
    assert entry(*given) is False
    assert place == 2 or np.array_equal(given[2], kept)


@pytest.mark.parametrize("count", [0, 1, 2, 4, 30])
def test_it_leaves_another_number_of_arguments_to_python(count: int) -> None:
    entry = serving(add, arrays())
    assert entry(*(arrays() * 10)[:count]) is False


def test_only_what_is_written_must_be_writable() -> None:
    entry = serving(add, arrays())
    x, y, z = arrays()
    assert entry(_frozen(x), y, _frozen(z)) is False
    assert entry(_frozen(x), y, z) is True


def test_overlap_that_the_code_does_not_expect_is_left_to_python() -> None:
    made = table()
    shader = tell(made, add, arrays(100))
    assert code_of(shader).disjoint
    memory = np.zeros(300, np.float32)
    assert made.entry(memory[:100], memory[100:200], memory[50:150]) is False
    assert made.entry(memory[:100], memory[100:200], memory[200:]) is True


def test_an_absent_argument_is_a_look_of_its_own() -> None:
    made = table()
    x, bias, y = arrays()
    tell(made, biased, [x, None, y])
    assert made.entry(x, bias, y) is False
    assert made.entry(x, None, y) is True
    assert np.array_equal(y, x)
    tell(made, biased, [x, bias, y])
    assert made.entry(x, bias, y) is True
    assert np.array_equal(y, x + 1)
    assert made.entry(x, None, y) is True
    assert np.array_equal(y, x)


def test_the_latest_calls_are_kept() -> None:
    made = table()
    sizes = range(1, CAPACITY + 2)
    for size in sizes:
        tell(made, add, arrays(size))
    assert [made.entry(*arrays(size)) for size in sizes] == [False, *[True] * CAPACITY]


def test_empty_arrays_need_no_address() -> None:
    assert serving(add, arrays(0))(*arrays(0)) is True


def test_it_watches_names() -> None:
    names: dict[str, object] = {"scale": 1000, "other": 1}
    built_in: dict[str, object] = {"len": len}
    cell = CellType(1000)
    kept = names["scale"]
    watched = [
        Identity(names, "scale", kept),
        Identity(names, "len", None, missing=True),
        Identity(built_in, "len", len),
        Identity(cell, None, kept := cell.cell_contents),
    ]
    entry = serving(add, arrays(), *watched)
    assert entry(*arrays()) is True
    for change, back in [
        (lambda: names.update(scale=1001), lambda: names.update(scale=watched[0].value)),
        (lambda: names.pop("scale"), lambda: names.update(scale=watched[0].value)),
        (lambda: names.update(len=max), lambda: names.pop("len")),
        (lambda: built_in.update(len=max), lambda: built_in.update(len=len)),
        (lambda: setattr(cell, "cell_contents", 1001), lambda: setattr(cell, "cell_contents", kept)),
        (lambda: delattr(cell, "cell_contents"), lambda: setattr(cell, "cell_contents", kept)),
    ]:
        change()
        assert entry(*arrays()) is False
        back()
        assert entry(*arrays()) is True


class Hostile:
    """A key that a dictionary compares with ours, and that raises then."""

    def __hash__(self) -> int:
        return hash("scale")

    def __eq__(self, other: object) -> bool:
        raise ValueError(other)


def test_an_error_while_names_are_compared_goes_no_further() -> None:
    hostile: dict[Any, object] = {Hostile(): 1}
    assert serving(add, arrays(), Identity(hostile, "scale", None, missing=True))(*arrays()) is False
    assert serving(add, arrays(), Identity(hostile, "scale", 3))(*arrays()) is False


def test_references_are_neither_lost_nor_kept() -> None:
    x, _, y = arrays()
    entry = serving(biased, [x, None, y], Identity(cell := CellType("held"), None, cell.cell_contents))
    counted = (x, y, None, True, False, cell.cell_contents, entry)
    before = [sys.getrefcount(each) for each in counted]
    for _ in range(100_000):
        entry(x, None, y)
        entry(x, None, x)
    after = [sys.getrefcount(each) for each in counted]
    assert all(abs(new - old) < 50 for new, old in zip(after, before, strict=True))


def test_the_entry_keeps_what_it_runs_and_nothing_else_does() -> None:
    made = table()
    shader = weakref.ref(tell(made, add, arrays()))
    entry = made.entry
    del made
    gc.collect()
    assert shader() is not None
    assert entry(*arrays()) is True
    del entry
    gc.collect()
    assert shader() is None


def test_scratch_is_shared_by_turns() -> None:
    made = table()
    given = arrays(300)[1:]
    shader = tell(made, twice_reversed, given)
    assert code_of(shader).scratch_bytes
    failures: list[int] = []

    def work(seed: int) -> None:
        x, y = np.random.default_rng(seed).random(300, np.float32), np.zeros(300, np.float32)
        for _ in range(200):
            y[:] = 0
            if made.entry(x, y) and not np.array_equal(y, 2 * np.sort(x)):
                failures.append(seed)

    _together(work)
    assert failures == []
    assert made.entry(*given) is True


def test_many_threads_call_while_calls_are_added() -> None:
    made = table()
    tell(made, add, arrays())
    failures: list[int] = []

    def work(seed: int) -> None:
        x, y, z = arrays()
        for turn in range(300):
            if seed == 0 and turn % 30 == 0:
                tell(made, add, arrays(18 + turn % 60))
                tell(made, add, arrays())
            if made.entry(x, y, z) and not np.array_equal(z, x + 1):
                failures.append(seed)
            x += 1

    _together(work)
    assert failures == []


def _together(work: Callable[[int], None], count: int = 4) -> None:
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@dataclass
class Seen:
    """Whether another thread ran while this one was inside of a call."""

    inside: bool = False
    released: bool = False


def released_during(call: Callable[[], object]) -> bool:
    """With switches a thousand seconds apart, this thread goes on when the other lets it, or has ended."""
    seen, ready = Seen(), threading.Event()

    def work() -> None:
        ready.set()
        seen.inside = True
        call()
        seen.inside = False

    interval = sys.getswitchinterval()
    caller = threading.Thread(target=work)
    caller.start()
    try:
        sys.setswitchinterval(1000)
        ready.wait()
        seen.released = seen.inside
        caller.join()
    finally:
        sys.setswitchinterval(interval)
    return seen.released


def test_a_long_launch_lets_other_threads_run() -> None:
    given = arrays(4_000_000)
    entry = serving(add, given)
    entry(*given)
    assert any(released_during(lambda: entry(*given)) for _ in range(20))


def test_a_short_launch_does_not() -> None:
    given = arrays()
    entry = serving(add, given)
    entry(*given)
    assert not all(released_during(lambda: entry(*given)) for _ in range(20))


@pytest.mark.parametrize("field", ["type", "data", "rank", "shape", "strides", "dtype", "flags"])
def test_another_layout_of_arrays_is_noticed(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert direct.is_as_expected()
    monkeypatch.setattr(direct, "ARRAY", replace(ARRAY, **{field: getattr(ARRAY, field) + 8}))
    assert not direct.is_as_expected()
