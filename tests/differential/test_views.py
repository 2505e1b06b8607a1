"""Arguments that are strided, transposed, padded or repeated: every kernel of the route battery, bit for bit."""

from functools import lru_cache

import numpy as np
import pytest

from tests.differential.on_device import run_on_device
from tests.differential.route_kernels import KERNELS
from tests.differential.strided import LAYOUTS, Memory, lay_out, restrided
from tests.differential.test_xir_route import REGROUPED, WAYS
from tilewright.bridge.xir import lower, plan
from tilewright.interp.run import run as interpret
from tilewright.ir.kernel import Kernel
from tilewright.xir.interp import run as run_xir
from tilewright.xir.passes.pipelines import CPU_PIPELINE, run_pipeline

EXACT = sorted(set(KERNELS) - REGROUPED)
PLACES = [(name, False) for name in LAYOUTS] + [("padded rows", True), ("columns first", True)]


@lru_cache(maxsize=None)
def moved(name: str, layout: str, repeated: bool) -> Kernel:  # noqa: FBT001  part of what is tested
    return restrided(KERNELS[name], LAYOUTS[layout], repeated=repeated)


@lru_cache(maxsize=None)
def expected(name: str, layout: str, repeated: bool) -> list[Memory]:  # noqa: FBT001  part of what is tested
    kernel = moved(name, layout, repeated)
    memories = lay_out(kernel.parameters)
    interpret(kernel, [memory.array for memory in memories])
    return memories


def require_same(kernel: Kernel, want: list[Memory], got: list[Memory]) -> None:
    for parameter, a, b in zip(kernel.parameters, want, got, strict=True):
        assert a.same_bytes(b), parameter.name


@pytest.mark.parametrize(("layout", "repeated"), PLACES)
@pytest.mark.parametrize("name", EXACT)
def test_the_device_computes_what_the_interpreter_computes(name: str, layout: str, repeated: bool) -> None:
    kernel = moved(name, layout, repeated)
    for threads in (1, 8):
        memories = lay_out(kernel.parameters)
        run_on_device(kernel, [memory.address for memory in memories], threads=threads)
        require_same(kernel, expected(name, layout, repeated), memories)


WAY_OF = dict(zip(EXACT, (list(WAYS) * len(EXACT))[: len(EXACT)], strict=True))


@pytest.mark.parametrize("name", EXACT)
def test_so_does_xir_in_every_way(name: str) -> None:
    """Each kernel at one layout and one way here; `make test-all` has all of them."""
    require_route(name, list(LAYOUTS)[EXACT.index(name) % len(LAYOUTS)], WAY_OF[name])


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", EXACT)
def test_so_does_xir_in_all_ways(name: str, layout: str, way: str) -> None:
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
