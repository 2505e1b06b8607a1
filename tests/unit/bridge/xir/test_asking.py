"""Which products ask for the lines of their result while they compute."""

import pytest

from tests.unit.bridge.xir.planning import contracts_of
from tests.unit.bridge.xir.test_sharing import products
from tilewright.bridge.xir.options import XirOptions
from tilewright.bridge.xir.plan import plan
from tilewright.bridge.xir.records import ContractPlan
from tilewright.core.machine import GENERIC_AVX512
from tilewright.tile import tensor_shape


def product(m: int, n: int, k: int, options: XirOptions | None = None) -> ContractPlan:
    kernel = products.capture(tensor_shape(m, k), tensor_shape(k, n), tensor_shape(m, n))
    made = plan(kernel, GENERIC_AVX512, options, threads=1)
    (item,) = contracts_of(kernel, made)
    assert any("lines of the result" in note for note in made.notes) == item.ahead
    return item


def test_a_result_beyond_the_second_cache_is_asked_for() -> None:
    item = product(1024, 1024, 512)
    assert item.ahead
    assert "lines of the result are asked for ahead: 4096 KiB of it are more than the second cache" in item.why


@pytest.mark.parametrize(
    ("m", "n", "k", "options"),
    [
        (512, 512, 512, None),  # stays near
        (1024, 1024, 64, None),  # chains too short
        (1024, 1024, 512, XirOptions(register_tile=(4, 2))),  # too few multiply-adds in a step
    ],
)
def test_what_gains_nothing_is_not(m: int, n: int, k: int, options: XirOptions | None) -> None:
    assert not product(m, n, k, options).ahead
