"""Both ways of finding the address agree, on every kind of array."""

import numpy as np

from tilewright.compile.addresses import addresses_of, by_field, by_interface


def test_the_quick_way_is_the_public_one() -> None:
    base = np.zeros((4, 6), np.float32)
    arrays = [base, base[1:], base[:, 2:], base.T, base[::-1], base[:0], np.frombuffer(bytes(16)), np.array(3.0)]
    assert by_field(arrays) == by_interface(arrays)


def test_here_the_quick_way_is_taken() -> None:
    assert addresses_of() is by_field
