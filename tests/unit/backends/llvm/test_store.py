"""What makes a compiled kernel another one is in its key, and what is stored is used again."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tilewright import tile
from tilewright.backends.llvm import store
from tilewright.backends.llvm.kernel import CompiledKernel, compile_kernel
from tilewright.core import config as settings
from tilewright.core.abi import CompileOptions, Lowering
from tilewright.core.config import Config
from tilewright.ir.kernel import Kernel
from tilewright.tile import ConstView1, Packing, Use, View1, XirOptions, axis, coord, f32, parallel, shape, tensor_shape


def make(factor: float, name: str = "scaled", n: int = 16) -> Kernel:
    @tile.kernel(name=name)
    def kernel(x: ConstView1[f32], y: View1[f32]):
        g, i = axis("g", 1), axis("i", x.shape[0])
        for nest in parallel(shape(g)):
            y.at(coord(nest.index()), shape(i)).store(x[coord(nest.index()), shape(i)] * factor)

    return kernel.capture(tensor_shape(n), tensor_shape(n))


OPTIONS = CompileOptions(Lowering.NATIVE)


def key(kernel: Kernel, options: CompileOptions = OPTIONS, *, may_alias: bool = False) -> str:
    return store.cache_key(kernel, options, may_alias=may_alias)


def test_a_launch_of_one_task_is_the_same_code_on_any_number_of_threads() -> None:
    made = [compile_kernel(make(2.0, n=1000), OPTIONS, threads=threads) for threads in (1, 8)]
    assert [each.tasks for each in made] == [1, 1]
    assert made[0].metadata.source == made[1].metadata.source


def test_equal_kernels_have_one_key() -> None:
    assert key(make(2.0)) == key(make(2.0))


@pytest.mark.parametrize(
    "other",
    [
        lambda: key(make(3.0)),
        lambda: key(make(2.0, "other")),
        lambda: key(make(2.0, n=17)),
        lambda: key(make(2.0), may_alias=True),
        lambda: key(make(2.0), replace(OPTIONS, fast_math=True)),
        lambda: key(make(2.0), replace(OPTIONS, threads_per_group=4)),
        lambda: key(make(2.0), replace(OPTIONS, name="alias")),
        lambda: key(make(2.0), replace(OPTIONS, xir=XirOptions(max_scratch_bytes=0))),
        lambda: key(make(2.0), replace(OPTIONS, xir=XirOptions(packing=Packing.IN_PLACE))),
        lambda: key(make(2.0), replace(OPTIONS, xir=XirOptions(k_block=8))),
        lambda: key(make(2.0), replace(OPTIONS, xir=XirOptions(register_tile=(4, 2)))),
        lambda: key(make(2.0), replace(OPTIONS, xir=XirOptions(streaming=Use.NEVER))),
        lambda: key(make(2.0), replace(OPTIONS, xir=XirOptions(without=("clip-axes",)))),
    ],
)
def test_what_changes_the_result_changes_the_key(other: Callable[[], str]) -> None:
    assert other() != key(make(2.0))


@pytest.mark.parametrize("part", ["host_machine", "toolchain_version", "compiler_digest"])
def test_machine_and_compiler_are_in_the_key(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = key(make(2.0))
    monkeypatch.setattr(store, part, lambda: "another")
    assert key(make(2.0)) != before


def test_the_number_of_threads_is_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key(make(2.0))
    monkeypatch.setattr(store, "config", lambda: Config(settings.config().num_threads + 1))
    assert key(make(2.0)) != before


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The kernels that were compiled, with an empty memory and an empty folder."""
    names: list[str] = []
    real = store.compile_kernel

    def counting(kernel: Kernel, *arguments: Any, **options: Any) -> CompiledKernel:
        names.append(kernel.name)
        return real(kernel, *arguments, **options)

    monkeypatch.setattr(store, "compile_kernel", counting)
    monkeypatch.setattr("tilewright.backends.llvm.cache.config", lambda: Config(1, tmp_path))
    forget(monkeypatch)
    return names


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_MEMORY", type(store._MEMORY)())  # pyright: ignore[reportPrivateUsage]


def test_memory_serves_before_disk_and_disk_before_the_compiler(
    made: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = store.stored_kernel(make(2.0), OPTIONS, may_alias=False)
    assert store.stored_kernel(make(2.0), OPTIONS, may_alias=False) is first
    forget(monkeypatch)
    again = store.stored_kernel(make(2.0), OPTIONS, may_alias=False)
    assert (again.object(), again.metadata) == (first.object(), first.metadata)
    assert again.report.render().startswith(first.report.render())
    assert made == ["scaled"]
    forget(monkeypatch)
    for file in tmp_path.iterdir():
        file.write_bytes(file.read_bytes()[:-5])
    assert store.stored_kernel(make(2.0), OPTIONS, may_alias=False).object() == first.object()
    assert made == ["scaled"] * 2


def test_without_cache_nothing_is_kept_or_used(made: list[str], tmp_path: Path) -> None:
    for _ in range(2):
        store.stored_kernel(make(2.0), replace(OPTIONS, cache=False), may_alias=False)
    assert made == ["scaled"] * 2
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_no_reason_to_fail(
    made: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("tilewright.backends.llvm.cache.config", lambda: Config(1, tmp_path / "file" / "cache"))
    assert store.stored_kernel(make(2.0), OPTIONS, may_alias=False).object()
    assert made == ["scaled"]
