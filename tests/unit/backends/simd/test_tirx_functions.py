"""Functions that TVM's code calls: the plain C functions, their registration, and what happens without them."""

import ctypes
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.unit.bridge.tirx.building import captured, shared
from tilewright import create_device, synchronize, tile
from tilewright.backends.simd import tirx_functions
from tilewright.backends.simd.tirx_vector_math import vector_functions
from tilewright.bridge.tirx import CpuMathBackend, CpuMatrixBackend
from tilewright.bridge.tirx.door import Door
from tilewright.core.errors import CapabilityError
from tilewright.tile import Lowering, TirxOptions, f32

C = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
VECTORS = TirxOptions(cpu_math_backend=CpuMathBackend.VECTOR)
CBLAS = TirxOptions(noalias=True, cpu_matrix_backend=CpuMatrixBackend.CBLAS)
EXTENTS = (0, 1, 15, 16, 17, 63, 64, 65, 200, 1024, 1031)


def function(name: str) -> Callable[[Any, Any, int], None]:
    called = C(vector_functions()[name])
    return lambda source, target, count: called(source.ctypes.data, target.ctypes.data, count)


@pytest.mark.parametrize("extent", EXTENTS)
def test_exp_of_any_count_stays_within_its_bound_and_its_array(extent: int) -> None:
    x = np.random.default_rng(extent).uniform(-87, 88, extent + 1).astype("f4")[1:]
    y = np.full(extent + 1, 7, "f4")
    function("exp")(x, y, extent)
    exact = np.exp(x.astype("f8"))
    assert y[extent] == 7
    assert (np.abs(y[:extent] - exact) <= np.spacing(exact.astype("f4"))).all()


def test_exp_in_place() -> None:
    x = np.linspace(-3, 3, 100, dtype="f4")
    y = x.copy()
    function("exp")(y, y, 100)
    assert np.allclose(y, np.exp(x), rtol=2.0**-22)


@pytest.mark.parametrize("extent", EXTENTS)
def test_folds_of_any_count(extent: int) -> None:
    x, r = np.random.default_rng(extent).standard_normal(extent).astype("f4"), np.zeros(1, "f4")
    function("add")(x, r, extent)
    assert abs(r[0] - x.astype("f8").sum()) <= extent * 2.0**-24 * np.abs(x).sum()
    for name, nothing, exact in (("max", -np.inf, np.max), ("min", np.inf, np.min)):
        function(name)(x, r, extent)
        assert r[0] == (exact(x) if extent else nothing)


@pytest.mark.parametrize("place", [0, 70, 129])
@pytest.mark.parametrize("name", ["add", "max", "min"])
def test_a_nan_comes_through_a_fold(name: str, place: int) -> None:
    x, r = np.ones(130, "f4"), np.zeros(1, "f4")
    x[place] = np.nan
    function(name)(x, r, 130)
    assert np.isnan(r[0])


def test_a_shader_names_its_providers() -> None:
    device = create_device("simd")
    shader = tile.compile(device, shared.capture(*captured(40)), lowering=Lowering.TIRX, tirx=VECTORS)
    assert shader.metadata.providers == ("provider tilewright.vector.exp: 1 call sites, within 1 ulp",)
    assert "provider tilewright.vector.exp" in shader.explain()
    x, y = np.linspace(-1, 1, 40, dtype="f4"), np.zeros(40, "f4")
    source, target = device.create_buffer(f32, 40), device.create_buffer(f32, 40)
    stream = device.create_stream()
    stream << source.copy_from(x) << shader(source, target).dispatch() << target.copy_to(y) << synchronize()
    assert np.allclose(y, np.exp(2 * x), rtol=1e-6)


class Registry(Door):
    """A registry of which only the names are real."""

    names: dict[str, int]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", dict.fromkeys(names, 0))

    def has_function(self, name: str) -> bool:
        return name in self.names

    def register_function(self, name: str, address: int) -> None:
        assert name not in self.names
        self.names[name] = address


def test_a_name_that_is_taken_keeps_its_owner() -> None:
    taken = Registry("tvm.contrib.cblas.matmul")
    tirx_functions.register_functions(taken, CBLAS)
    assert taken.names == {"tvm.contrib.cblas.matmul": 0}


def test_only_what_is_asked_for_is_registered() -> None:
    empty = Registry()
    tirx_functions.register_functions(empty, TirxOptions())
    assert empty.names == {}
    tirx_functions.register_functions(empty, VECTORS)
    assert set(empty.names) == {f"tilewright.vector.{name}" for name in ("exp", "add", "max", "min")}


def test_without_its_extra_cblas_stays_unregistered(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: Door) -> None:
        return None

    monkeypatch.setattr(tirx_functions, "_matmul", missing)
    empty = Registry()
    tirx_functions.register_functions(empty, CBLAS)
    assert empty.names == {}


def test_what_would_end_the_process_ends_in_a_diagnostic() -> None:
    """In a process of its own: nobody registered a function, the C library lacks one, an address is torn. The process
    lives on, and computes.
    """
    program = """
import numpy as np
from tests.unit.bridge.tirx.building import captured, shared
from tilewright import tile
from tilewright.bridge.tirx import CpuMathBackend, TirxOptions, compile
from tilewright.bridge.tirx.export import elementwise, functions
from tilewright.core.errors import TilewrightError

def told(act):
    try:
        act()
    except TilewrightError as error:
        print(error.diagnostic.code.id)

kernel, known = shared.capture(*captured(40)), functions.FUNCTIONS
told(lambda: compile(kernel, TirxOptions(cpu_math_backend=CpuMathBackend.VECTOR)))
called = shared.with_options(lowering=tile.Lowering.TIRX, cache=False)
x, y, torn = np.ones(40, "f4"), np.zeros(40, "f4"), np.zeros(161, "u1")[1:].view("f4")
elementwise.FUNCTIONS = {**known, "exp": functions._library("no_such_function")}
told(lambda: called(x, y))
elementwise.FUNCTIONS = known
told(lambda: called(torn, y))
told(lambda: compile(kernel)(torn, y))
called(x, y)
print(abs(y - np.exp(2)).max() < 1e-5)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["TW474", "TW472", "TW654", "TW654", "True"]


def test_accelerate_is_refused_by_name_off_macos() -> None:
    with pytest.raises(CapabilityError, match="cpu_math_backend is ACCELERATE") as caught:
        tile.compile(
            create_device("simd"),
            shared.capture(*captured(40)),
            lowering=Lowering.TIRX,
            tirx=TirxOptions(cpu_math_backend=CpuMathBackend.ACCELERATE),
        )
    assert caught.value.diagnostic.code.id == "TW476"
