"""Arrays that do not fit are refused before anything is written."""

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from tests.unit.interp.hand import Hand, View, space
from tilewright import interp
from tilewright.core.dtypes import f32
from tilewright.core.errors import DispatchError
from tilewright.interp.run import _distinct  # pyright: ignore[reportPrivateUsage]
from tilewright.interp.storage import pools


def _kernel() -> Any:
    h = Hand(x=View(f32, (2, 3), const=True), y=View(f32, (2, 3)))
    with h.parallel(space(p=1)) as p:
        o = [p.indices[0]] * 2
        h.store(h.y, o, h.load(h.x, o, space(m=2, n=3)))
    return h.kernel()


def _read_only() -> np.ndarray:
    array = np.zeros((2, 3), "f4")
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("second", "code", "text"),
    [
        (np.zeros((2, 3), "f8"), "TW641", "argument 1 (`y`) of by_hand holds float64, expected f32"),
        (np.zeros((2, 3), ">f4"), "TW641", "holds >f4, expected f32"),
        (np.zeros((3, 2), "f4"), "TW642", "has shape (3, 2), expected (2, 3)"),
        (np.zeros(6, "f4"), "TW642", "has shape (6,), expected (2, 3)"),
        ([[0.0] * 3] * 2, "TW640", "is list, not a NumPy array"),
        (_read_only(), "TW643", "cannot be written"),
        (np.broadcast_to(np.zeros(3, "f4"), (2, 3)).view(), "TW643", "cannot be written"),
        (as_strided(np.zeros(9, "f4"), (2, 3), (0, 4)), "TW644", "strides (0, 4), so several elements"),
        (as_strided(np.zeros(9, "f4"), (2, 3), (8, 4)), "TW644", "strides (8, 4), so several elements"),
    ],
)
def test_an_array_that_does_not_fit(second: object, code: str, text: str) -> None:
    with pytest.raises(DispatchError) as caught:
        interp.run(_kernel(), [np.zeros((2, 3), "f4"), second])
    assert caught.value.diagnostic.code.id == code
    assert text in caught.value.diagnostic.message


def test_the_number_of_arrays() -> None:
    with pytest.raises(DispatchError, match=r"takes 2 argument\(s\), got 1"):
        interp.run(_kernel(), [np.zeros((2, 3), "f4")])


def test_interleaved_elements_are_distinct_and_const_views_may_repeat() -> None:
    x = as_strided(np.arange(3, dtype="f4"), (2, 3), (0, 4))
    y = as_strided(np.zeros(12, "f4"), (2, 3), (12, 8))  # cells 0 2 4 / 3 5 7
    interp.run(_kernel(), [x, y])
    assert y.tolist() == [[0, 1, 2], [0, 1, 2]]


def test_a_scalar_parameter_is_read_once() -> None:
    h = Hand(s=View(f32, None), y=View(f32, (2,)))
    with h.parallel(space(p=2)) as p:
        h.set(h.y, p.indices, h.do("add", h.s, h.const(1)))
    memory = np.asarray([3, 0], "f4")
    interp.run(h.kernel(), [memory[:1].reshape(()), memory])
    assert memory.tolist() == [4, 4]


def test_notes_of_an_array_alone_follow_its_elements_not_the_bytes_between_them() -> None:
    """Rows a gigabyte apart are a few elements."""
    memory = np.zeros(1000, np.float32)
    apart, whole, twice = memory[:400:100], memory[400:600], memory[700:900]
    found = pools([apart, whole, twice[:150], twice[50:]])
    assert [pool.size for pool in found] == [4, 200, 200, 200]
    assert found[2] is found[3]


def test_a_plain_array_is_not_looked_at_element_by_element() -> None:
    """64 GiB of addresses would not fit; the strides say it all."""
    plain = as_strided(np.zeros(1, np.uint8), (1 << 17, 1 << 16), (1 << 16, 1))
    assert _distinct(plain)
    assert not _distinct(as_strided(np.zeros(8, np.uint8), (2, 4), (3, 1)))
