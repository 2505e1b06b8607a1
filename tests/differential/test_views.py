"""Arguments that are strided, transposed, padded or repeated: every kernel of the route battery, bit for bit."""

from functools import cache

import numpy as np
import pytest

from tests.differential.on_device import run_on_device
from tests.differential.route_kernels import KERNELS
from tests.differential.strided import LAYOUTS, Memory, lay_out, restrided
from tests.differential.test_xir_route import REGROUPED, WAYS
from tilewright.bridge.xir.lower.kernel import lower
from tilewright.bridge.xir.plan import plan
from tilewright.core.errors import CaptureError
from tilewright.interp.run import run as interpret
from tilewright.ir.kernel import Kernel
from tilewright.tile import tensor_shape
from tilewright.xir.interp import run as run_xir
from tilewright.xir.passes.pipelines import CPU_PIPELINE, run_pipeline

EXACT = sorted(set(KERNELS) - REGROUPED)
PLACES = [(name, False) for name in LAYOUTS] + [("padded rows", True), ("columns first", True)]


@cache
def moved(name: str, layout: str, repeated: bool) -> Kernel:
    return restrided(KERNELS[name], LAYOUTS[layout], repeated=repeated)


@cache
def expected(name: str, layout: str, repeated: bool) -> list[Memory]:
    kernel = moved(name, layout, repeated)
    memories = lay_out(kernel.parameters)
    interpret(kernel, [memory.array for memory in memories])
    return memories


def require_same(kernel: Kernel, want: list[Memory], got: list[Memory]) -> None:
    for parameter, a, b in zip(kernel.parameters, want, got, strict=True):
        assert a.same_bytes(b), parameter.name


def require_device(name: str, layout: str, repeated: bool, threads: int) -> None:
    kernel = moved(name, layout, repeated)
    memories = lay_out(kernel.parameters)
    run_on_device(kernel, [memory.address for memory in memories], threads=threads)
    require_same(kernel, expected(name, layout, repeated), memories)


@pytest.mark.parametrize("name", EXACT)
def test_every_kernel_in_one_place_on_the_device_and_in_xir(name: str) -> None:
    """Kernels take turns with places, ways and threads here; `make test-all` has all of them."""
    turn = EXACT.index(name)
    require_device(name, *PLACES[turn % len(PLACES)], threads=(1, 2, 8)[turn % 3])
    require_route(name, list(LAYOUTS)[turn % len(LAYOUTS)], list(WAYS)[turn % len(WAYS)])


@pytest.mark.slow
@pytest.mark.parametrize(("layout", "repeated"), PLACES)
@pytest.mark.parametrize("name", EXACT)
def test_every_kernel_in_every_place_on_the_device(name: str, layout: str, repeated: bool) -> None:
    for threads in (1, 2, 8):
        require_device(name, layout, repeated, threads)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", EXACT)
def test_every_kernel_in_every_place_and_way_in_xir(name: str, layout: str, way: str) -> None:
    require_route(name, layout, way)


def require_route(name: str, layout: str, way: str) -> None:
    kernel = moved(name, layout, False)
    machine, options, may_alias = WAYS[way]
    lowered = lower(kernel, plan(kernel, machine, options, threads=2, may_alias=may_alias))
    run_pipeline(lowered.module, CPU_PIPELINE)
    memories = lay_out(kernel.parameters)
    run_xir(lowered.module, [memories[i].flat for i in lowered.argument_order])
    require_same(kernel, expected(name, layout, False), memories)


def test_no_element_is_touched_between_those_of_a_view() -> None:
    """The gaps and guards of the harness really hold other values than the elements."""
    memories = lay_out(moved("saxpy in place, ragged", "every third", False).parameters)
    assert np.unique(memories[0].around).size == memories[0].around.size


def test_strides_that_count_backwards_are_no_shape() -> None:
    with pytest.raises(CaptureError, match=r"TW108.*count backwards"):
        tensor_shape(4, strides=(-1,))
