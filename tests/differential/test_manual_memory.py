"""Manual memory on every route: contents, snapshots, owners, layouts; and what is refused."""

from collections.abc import Iterator

import numpy as np
import pytest

from tests.differential import memory_kernels as kernels
from tests.differential.on_device import run_on_device
from tests.differential.strided import Memory, lay_out
from tests.differential.test_xir_route import WAYS
from tilewright.bridge.xir.lower.kernel import lower
from tilewright.bridge.xir.plan import plan
from tilewright.core.errors import UnsupportedError
from tilewright.core.machine import GENERIC_AVX2
from tilewright.interp.run import run as interpret
from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.memory import MemoryAllocOp
from tilewright.ir.rewrite import run_pipeline as run_passes
from tilewright.passes.pipelines import CANONICAL
from tilewright.tile import TensorShape, tensor_shape
from tilewright.xir.interp import run as run_xir
from tilewright.xir.ops import AllocOp
from tilewright.xir.passes.pipelines import CPU_PIPELINE, run_pipeline
from tilewright.xir.types import buffer_type


def square(rows: int, columns: int) -> tuple[TensorShape, TensorShape]:
    return tensor_shape(rows, columns), tensor_shape(rows, columns)


def all_kernels() -> Iterator[tuple[str, Kernel]]:
    for trips in (0, 1, 3):
        for columns in (1, 7, 37, 257, 513):
            yield f"crosswise {columns}, {trips} trips", kernels.crosswise.capture(*square(3, columns), trips=trips)
    for step in (1, 2):
        yield f"mirrored, step {step}", kernels.mirrored.capture(*square(3, 7), step=step)
    for M, K, N in ((1, 3, 5), (7, 13, 19), (17, 21, 23), (37, 41, 29)):
        shapes = tensor_shape(M, K), tensor_shape(K, N), tensor_shape(M, N)
        yield f"staged product {M}x{K}x{N}", kernels.staged_product.capture(*shapes)
    for columns in (1, 7, 37):
        yield f"incremented {columns}", kernels.incremented.capture(*square(37, columns))
    for columns in (1, 37):
        yield f"overwritten {columns}", kernels.overwritten.capture(*square(9, columns))
    for name, making in kernels.LAYOUTS.items():
        for columns in (1, 7, 37, 65, 257):
            yield f"{name} {columns}", kernels.laid_out.capture(*square(9, columns), making=making)
    yield "an empty memory", kernels.empty.capture(tensor_shape(0), tensor_shape(0))


KERNELS = dict(all_kernels())


def expected(kernel: Kernel) -> list[Memory]:
    memories = lay_out(kernel.parameters)
    interpret(kernel, [memory.array for memory in memories])
    return memories


@pytest.mark.parametrize("name", KERNELS)
def test_the_routes_agree(name: str) -> None:
    """On the device at 8 threads, in XIR one of the ways in turn; `make test-all` has all ways and threads."""
    turn = list(KERNELS).index(name)
    require_device(KERNELS[name], threads=8)
    require_route(KERNELS[name], list(WAYS)[turn % len(WAYS)])


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", KERNELS)
def test_the_routes_agree_in_every_way(name: str, way: str) -> None:
    require_route(KERNELS[name], way)
    for threads in (1, 2):
        require_device(KERNELS[name], threads=threads)


def require_device(kernel: Kernel, threads: int) -> None:
    memories = lay_out(kernel.parameters)
    run_on_device(kernel, [memory.address for memory in memories], threads=threads)
    require_same(kernel, memories)


def require_route(kernel: Kernel, way: str) -> None:
    machine, options, may_alias = WAYS[way]
    lowered = lower(kernel, plan(kernel, machine, options, threads=2, may_alias=may_alias))
    run_pipeline(lowered.module, CPU_PIPELINE)
    memories = lay_out(kernel.parameters)
    run_xir(lowered.module, [memories[i].flat for i in lowered.argument_order])
    require_same(kernel, memories)


def require_same(kernel: Kernel, got: list[Memory]) -> None:
    for parameter, a, b in zip(kernel.parameters, expected(kernel), got, strict=True):
        assert a.same_bytes(b), parameter.name


def test_the_values_are_those_of_the_formulas() -> None:
    """The interpreter is not asked."""
    x = np.random.default_rng(1).standard_normal((9, 37), np.float32)
    y = np.zeros_like(x)
    for making in kernels.LAYOUTS.values():
        kernels.laid_out(x, y, making=making)
        assert np.array_equal(y, x * np.float32(3) + np.float32(6))
    for step in (1, 2):
        kernels.mirrored(x, y, step=step)
        assert np.array_equal(y, x[:, ::-1] + 1 + 1 + 1)


@pytest.mark.parametrize("name", [name for name in KERNELS if not name.startswith("staged")])
def test_storage_is_exactly_what_the_layout_asks_for(name: str) -> None:
    kernel = KERNELS[name]
    module = lower(kernel, plan(kernel, GENERIC_AVX2, WAYS["avx2"][1], threads=1)).module
    made = [buffer_type(op.buffer).extent for op in module.walk() if isinstance(op, AllocOp)]
    for op in kernel.op.walk():
        if isinstance(op, MemoryAllocOp) and op.layout is not None:
            assert max(op.layout.codomain.volume, 1) in made


def test_what_cannot_be_proved_is_refused() -> None:
    over = kernels.unprovable.capture(tensor_shape((1 << 20) + 1))
    with pytest.raises(UnsupportedError, match=r"TW432.*proof budget"):
        run_on_device(over, [0])
    y = np.ones(99, np.float32)
    kernels.unprovable(y)
    assert not y.any()


@pytest.mark.parametrize(
    ("resource", "scope", "words"),
    [
        ("global", None, "TW424.*Memory resource"),
        ("cluster", None, "TW424.*Memory resource"),
        ("tensor", None, "TW424.*Memory resource"),
        ("shared", "worker", "TW424.*Memory resource"),
        ("private", "group", "TW422.*group"),
    ],
)
@pytest.mark.parametrize("programs", [0, 1])
@pytest.mark.parametrize("elements", [0, 7])
def test_other_resources_and_owners_are_refused_even_for_nothing(
    resource: str, scope: str | None, words: str, programs: int, elements: int
) -> None:
    shapes = tensor_shape(elements), tensor_shape(elements)
    kernel = kernels.resourced.capture(*shapes, programs=programs, resource=resource, scope=scope)
    with pytest.raises(UnsupportedError, match=words):
        run_on_device(kernel, [0, 0])


@pytest.mark.parametrize("trips", [0, 1, 3])
@pytest.mark.parametrize("columns", [1, 7, 37, 257, 513])
def test_an_exchange_through_two_buffers_launched_three_times(columns: int, trips: int) -> None:
    y = np.empty((3, columns), np.float32)
    for launch in range(3):
        x = np.random.default_rng(launch).standard_normal((3, columns), np.float32)
        first, second = x, x * np.float32(2)
        for _ in range(trips):
            kept, first = first, second + np.float32(1)
            second = kept + x
        y.fill(np.nan)
        kernels.crosswise(x, y, trips=trips)
        assert np.allclose(y, first + second * 3 + x, rtol=0, atol=1e-5)


@pytest.mark.parametrize("step", [1, 2])
def test_both_resources_of_an_ancestor_and_its_children_survive_the_passes(step: int) -> None:
    kernel = kernels.mirrored.capture(*square(3, 7), step=step)
    module = kernel.module.clone()
    run_passes(module, CANONICAL)
    resources = [op.resource.data for op in module.walk() if isinstance(op, MemoryAllocOp) and op.resource is not None]
    assert resources == ["private", "private"]


@pytest.mark.parametrize("way", ["programs", "programs of 4 lanes"])
@pytest.mark.parametrize("making", ["none", "turned", "padded"])
def test_every_vector_lane_has_a_buffer_of_its_own(making: str, way: str) -> None:
    kernel = kernels.incremented.capture(*square(3, 7), making=kernels.LAYOUTS[making])
    require_route(kernel, way)
    memories = lay_out(kernel.parameters)
    run_on_device(kernel, [memory.address for memory in memories], options=WAYS[way][1])
    x, y = (memory.array for memory in memories)
    assert np.allclose(y, 3 * x + 3, rtol=0, atol=1e-5)
