"""Code through TVM on disk: found again without TVM's compiler, believed only after checks, never another kernel's."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.bridge.tirx.building import captured, programs, shared
from tilewright import create_device, tile
from tilewright.backends.llvm.cache import CodeCache
from tilewright.backends.simd import tirx_store
from tilewright.backends.simd.tirx_store import tirx_key
from tilewright.bridge.tirx import CpuMathBackend
from tilewright.core.abi import CompileOptions
from tilewright.core.errors import CapabilityError
from tilewright.ir.kernel import Kernel
from tilewright.runtime.shader import Shader
from tilewright.tile import Lowering, TirxOptions, TirxPlanner

VECTORS = TirxOptions(cpu_math_backend=CpuMathBackend.VECTOR)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CodeCache:
    disk = CodeCache(tmp_path / "cache")
    monkeypatch.setattr(tirx_store, "code_cache", lambda: disk)
    return disk


def compiled(kernel: Kernel, **options: Any) -> Shader:
    return tile.compile(create_device("simd"), kernel, lowering=Lowering.TIRX, **options)


def run(shader: Shader, x: Any) -> Any:
    y = np.zeros_like(x)
    native: Any = shader.native
    native.launch_addresses([x.ctypes.data, y.ctypes.data])
    return y


def without_compiler(patch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("TVM was asked to compile")

    patch.setattr(tirx_store, "build", refuse)


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        (programs.capture(*captured(200)), TirxOptions()),  # on the pool
        (shared.capture(*captured(40)), TirxOptions()),  # calls expf, and has storage in TVM's workspace
        (shared.capture(*captured(40)), VECTORS),  # calls a registered function
    ],
    ids=["launch", "library", "registry"],
)
def test_stored_code_runs_without_the_compiler(
    kernel: Kernel, options: TirxOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = compiled(kernel, tirx=options)
    without_compiler(monkeypatch)
    again = compiled(kernel, tirx=options)
    x = np.linspace(-1, 1, kernel.parameters[0].shape[0], dtype="f4")
    assert run(first, x).tobytes() == run(again, x).tobytes()
    assert again.metadata == first.metadata
    assert again.explain() == f"{first.explain()}\nmachine code from the cache"


def test_the_assembly_of_stored_code_is_that_of_the_code() -> None:
    kernel = programs.capture(*captured(20))
    assert compiled(kernel).assembly() == compiled(kernel).assembly()


def test_a_new_process_finds_it(folder: CodeCache) -> None:
    program = """
import numpy as np
from tests.unit.backends.simd.test_tirx_store import compiled, run, VECTORS
from tests.unit.bridge.tirx.building import captured, shared
found = compiled(shared.capture(*captured(40)), tirx=VECTORS)
print("from the cache" in found.explain(), abs(run(found, np.ones(40, "f4"))[7] - np.exp(2)) < 1e-5)
"""
    compiled(shared.capture(*captured(40)), tirx=VECTORS)
    environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(folder.folder)}
    told = subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True)
    assert told.stdout.split() == ["True", "True"]


@pytest.mark.parametrize("place", [0, 40, 200, -1])
def test_a_damaged_file_is_compiled_again(folder: CodeCache, place: int) -> None:
    kernel = programs.capture(*captured(20))
    compiled(kernel)
    ((path, _, _),) = folder.files()
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    x = np.arange(20, dtype="f4")
    found = compiled(kernel)
    assert (run(found, x) == x + 1).all()
    assert "from the cache" not in found.explain()
    assert "from the cache" in compiled(kernel).explain()


def test_without_the_cache_nothing_is_kept(folder: CodeCache) -> None:
    compiled(programs.capture(*captured(20)), cache=False)
    assert folder.files() == []


def test_whatever_code_depends_on_is_in_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, plain = programs.capture(*captured(20)), CompileOptions(lowering=Lowering.TIRX)
    keys = {
        tirx_key(kernel, plain, TirxOptions()),
        tirx_key(programs.capture(*captured(21)), plain, TirxOptions()),
        tirx_key(kernel, CompileOptions(lowering=Lowering.TIRX, name="other"), TirxOptions()),
        tirx_key(kernel, plain, TirxOptions(noalias=True)),
        tirx_key(kernel, plain, TirxOptions(planner=TirxPlanner(max_cpu_stack_bytes=16))),
        tirx_key(kernel, plain, VECTORS),
    }
    for name, other in (("PINNED", ()), ("compiler_digest", lambda: ""), ("host", lambda: None)):
        with monkeypatch.context() as patch:
            patch.setattr(tirx_store, name, other)
            keys.add(tirx_key(kernel, plain, TirxOptions()))
    assert len(keys) == 9
    assert tirx_key(kernel, plain, TirxOptions()) in keys


def test_stored_code_whose_function_is_gone_is_found_before_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = shared.capture(*captured(40))
    compiled(kernel, tirx=VECTORS)

    def absent(*_: object) -> bool:
        return False

    monkeypatch.setattr("tilewright.bridge.tirx.door.Door.has_function", absent)
    monkeypatch.setattr("tilewright.backends.simd.tirx.register_functions", absent)
    with pytest.raises(CapabilityError) as caught:
        compiled(kernel, tirx=VECTORS)
    assert caught.value.diagnostic.code.id == "TW474"
