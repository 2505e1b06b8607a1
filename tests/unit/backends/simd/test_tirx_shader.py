"""Shaders that TVM made, on the ordinary runtime: views with offsets, checks, and both routes side by side."""

import ctypes
import threading
from typing import Any

import numpy as np
import pytest

from examples.gallery.elementwise import add
from examples.gallery.gemm import gemm
from tilewright import create_device, synchronize, tile
from tilewright.backends.null.device import NullDevice
from tilewright.backends.simd.pool import worker_pool
from tilewright.backends.simd.tirx_launcher import launch_on_our_pool
from tilewright.bridge.tirx.door import open_door
from tilewright.core.errors import CapabilityError, DispatchError, UnsupportedError
from tilewright.ir.kernel import Kernel
from tilewright.runtime.device import Device
from tilewright.runtime.shader import Shader
from tilewright.tile import Lowering, TirxOptions, TirxPlanner, exp, f32, tensor_shape

M, K, N = 20, 13, 18
NOALIAS = TirxOptions(noalias=True)


def product() -> Kernel:
    return gemm.capture(tensor_shape(M, K), tensor_shape(K, N), tensor_shape(M, N), bm=8, bn=8, bk=8)


def sum_of(extent: int) -> Kernel:
    return add.capture(*[tensor_shape(extent, extent)] * 3)


def through_tvm(device: Device, kernel: Kernel, **options: Any) -> Shader:
    return tile.compile(device, kernel, lowering=Lowering.TIRX, **options)


def test_both_routes_share_buffers_of_one_stream_at_any_offset() -> None:
    device, rng = create_device("simd"), np.random.default_rng(3)
    a, b = rng.standard_normal((M, K), np.float32), rng.standard_normal((K, N), np.float32)
    routes = [through_tvm(device, product()), tile.compile(device, product())]
    left, right = device.create_buffer(f32, a.size + 7), device.create_buffer(f32, b.size + 5)
    out = device.create_buffer(f32, 2 * M * N + 3)
    stream = device.create_stream()
    stream << left[7:].copy_from(a) << right[5:].copy_from(b)
    for place, shader in enumerate(routes):
        stream << shader(left[7:], right[5:], out[3 + place * M * N : 3 + (place + 1) * M * N]).dispatch()
    results = np.zeros((2, M, N), np.float32)
    stream << out[3:].copy_to(results) << synchronize()
    assert np.array_equal(results[0], results[1])
    assert np.allclose(results[0], a @ b, atol=1e-5)


def test_direct_calls_take_this_route_too() -> None:
    x, y = np.arange(9, dtype="f4").reshape(3, 3), np.zeros((3, 3), "f4")
    add.with_options(lowering=Lowering.TIRX)(x, x, y)
    assert (y == 2 * x).all()


def test_what_is_known_of_it() -> None:
    shader = through_tvm(create_device("simd"), product(), name="through_tvm")
    meta = shader.metadata
    assert (meta.name, meta.dispatch_size, meta.disjoint_writes) == ("through_tvm", (9, 1, 1), False)
    assert "define" in meta.source
    assert meta.realization["contractions"] == 1
    assert "parallel region of 9 programs in order: fewer than 64 cheap programs" in shader.explain()
    assert "main" in shader.assembly()


def test_a_promise_of_no_overlap_is_checked_at_every_dispatch() -> None:
    device = create_device("simd")
    promised, open_ = through_tvm(device, sum_of(4), tirx=NOALIAS), through_tvm(device, sum_of(4))
    memory = device.create_buffer(f32, 40)
    assert promised.metadata.disjoint_writes
    promised(memory[0:16], memory[8:24], memory[24:40])  # what is read may overlap
    with pytest.raises(DispatchError) as caught:
        promised(memory[0:16], memory[16:32], memory[20:36])
    assert caught.value.diagnostic.code.id == "TW634"
    open_(memory[0:16], memory[16:32], memory[20:36])


def test_direct_calls_check_the_promise_too() -> None:
    promising = add.with_options(lowering=Lowering.TIRX, tirx=NOALIAS)
    memory = np.arange(40, dtype="f4")
    x, y, z = (memory[start : start + 16].reshape(4, 4) for start in (0, 16, 20))
    with pytest.raises(DispatchError) as caught:
        promising(x, y, z)
    assert caught.value.diagnostic.code.id == "TW634"
    promising(x, x, y)
    assert (y == 2 * x).all()


@pytest.mark.parametrize("option", [{"fast_math": True}, {"threads_per_group": 4}])
def test_options_that_this_route_cannot_honour_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedError) as caught:
        through_tvm(create_device("simd"), product(), **option)
    assert caught.value.diagnostic.code.id == "TW406"


def test_a_device_without_this_route_does_not_take_another() -> None:
    with pytest.raises(CapabilityError, match="lowering TIRX"):
        through_tvm(Device(NullDevice()), product())


def test_threads_compile_and_dispatch_both_routes() -> None:
    failures: list[str] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        x, y = rng.standard_normal((2, 70 + seed, 70 + seed), np.float32)
        for lowering in (Lowering.TIRX, Lowering.NATIVE) * 2:
            planner = None if lowering is Lowering.NATIVE else TirxOptions(planner=TirxPlanner(enabled=False))
            z = np.zeros_like(x)
            add.with_options(lowering=lowering, tirx=planner)(x, y, z)
            if not np.array_equal(z, x + y):
                failures.append(f"{seed} {lowering}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_parallel_loops_run_on_the_pool_of_the_native_route() -> None:
    pool, x = worker_pool(), np.ones((600, 600), "f4")
    y = np.zeros_like(x)
    planner = TirxPlanner(min_cpu_parallel_tasks=2)
    adding = add.with_options(lowering=Lowering.TIRX, tirx=TirxOptions(planner=planner))
    adding(x, x, y)
    before = pool.state().launches
    adding(x, x, y)
    assert (y == 2).all()
    assert pool.state().launches == before + (pool.threads > 1)


@pytest.mark.parametrize("tasks", [0, 1, 5])
def test_the_launcher_runs_every_task_and_reports_a_failure(tasks: int) -> None:
    """With 0 tasks the pool chooses; the environment says how many there are."""
    seen: list[tuple[int, int, int]] = []

    class Environment(ctypes.Structure):
        _fields_ = (("barrier", ctypes.c_void_p), ("tasks", ctypes.c_int32))

    task = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(Environment), ctypes.c_void_p)

    @task
    def count(index: int, environment: Any, data: int) -> int:
        seen.append((index, environment.contents.tasks, data))
        return -1 if index == 3 else 0

    door, addresses = open_door(), list[int]()

    def keep(_door: object, address: int) -> None:
        addresses.append(address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(door), "use_launcher", keep)
        launch_on_our_pool(door)
    launch = ctypes.CFUNCTYPE(ctypes.c_int, task, ctypes.c_void_p, ctypes.c_int)(addresses[0])
    failed = launch(count, 77, tasks)
    made = tasks or worker_pool().threads
    assert sorted(seen) == [(index, made, 77) for index in range(made)]
    assert (failed != 0) == (made > 3)


def test_a_transcendental_answer_is_within_its_bound() -> None:
    @tile.kernel
    def exponential(x: tile.ConstView1[f32], y: tile.View1[f32]):
        e = tile.axis("e", x.shape[0])
        for _ in tile.parallel(tile.shape(1)):
            y.at(tile.coord(0), tile.shape(e)).store(exp(x[tile.coord(0), tile.shape(e)]))

    x, y = np.linspace(-80, 80, 301, dtype="f4"), np.zeros(301, "f4")
    exponential.with_options(lowering=Lowering.TIRX)(x, y)
    exact = np.exp(x.astype("f8"))
    assert (abs(y - exact) <= np.spacing(exact.astype("f4"))).all()
