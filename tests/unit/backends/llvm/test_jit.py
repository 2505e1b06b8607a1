import ctypes
import gc
import threading
from pathlib import Path

import llvmlite.binding
import pytest

from tilewright.backends.llvm import jit
from tilewright.backends.llvm.jit import assembly, compile_and_load, compile_object, load
from tilewright.backends.llvm.target import Target, host, toolchain_version
from tilewright.core.errors import ToolchainError
from tilewright.core.locks import LATE_IMPORTS

SEVEN = "define i32 @seven() { ret i32 7 }"
CALLER = "declare i32 @outside()\ndefine i32 @inside() {\n %x = call i32 @outside()\n ret i32 %x\n}"


def call(address: int) -> int:
    return ctypes.CFUNCTYPE(ctypes.c_int)(address)()


def test_an_object_can_be_loaded_more_than_once_and_unloaded() -> None:
    image = compile_object(SEVEN)
    first, second = load(image, ["seven"]), load(image, ["seven"])
    assert call(first.address("seven")) == call(second.address("seven")) == 7
    first.close()
    first.close()
    assert first.closed
    assert call(second.address("seven")) == 7
    with pytest.raises(KeyError):
        first.address("seven")


def test_symbols_can_be_given_and_come_from_other_libraries() -> None:
    seven = compile_and_load(SEVEN, ["seven"])
    caller = compile_and_load(CALLER, ["inside"], imports={"outside": seven.address("seven")})
    assert call(caller.address("inside")) == 7


def test_kept_code_outlives_its_library() -> None:
    library = compile_and_load(SEVEN, ["seven"])
    address = library.address("seven")
    library.keep()
    library.keep()
    del library
    gc.collect()
    assert call(address) == 7


@pytest.mark.parametrize(
    "text",
    [
        "define",
        "define void @f() { ret i32 0 }",
        "define void @g() { br label %a\na: %p = phi i32 [0, %b]\n ret void\nb: ret void }",
    ],
)
def test_text_that_llvm_refuses_is_kept(text: str) -> None:
    with pytest.raises(ToolchainError, match="TW510") as caught:
        compile_object(text, name="a b")
    kept = Path(caught.value.artifact)
    assert kept.read_text() == text
    assert str(kept) in str(caught.value)
    assert caught.value.log
    kept.unlink()


@pytest.mark.parametrize("exports", [["absent"], ["inside"]], ids=["missing export", "symbol without address"])
def test_what_cannot_be_linked_is_a_coded_error(exports: list[str]) -> None:
    with pytest.raises(ToolchainError, match="TW511") as caught:
        load(compile_object(CALLER), exports)
    Path(caught.value.artifact).unlink()


@pytest.mark.parametrize("keep", [0, 20, 300])
def test_a_damaged_image_is_a_coded_error(keep: int) -> None:
    with pytest.raises(ToolchainError, match="TW511") as caught:
        load(compile_object(SEVEN)[:keep], ["seven"])
    Path(caught.value.artifact).unlink()


def test_an_unknown_target_is_a_coded_error() -> None:
    with pytest.raises(ToolchainError, match="TW512"):
        compile_object(SEVEN, Target("nowhere-unknown-none", "generic"))


def test_assembly_names_the_function() -> None:
    assert "seven" in assembly(SEVEN)
    assert host().cpu
    assert "LLVM" in toolchain_version()


def test_threads_may_compile_and_load_at_once() -> None:
    results: list[int] = []

    def work(number: int) -> None:
        for k in range(number, 40, 4):
            library = compile_and_load(f"define i32 @f() {{ ret i32 {k} }}", ["f"])
            results.append(call(library.address("f")))
            library.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == list(range(40))


def test_no_fork_happens_while_llvm_is_asked_for_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """llvmlite has a lock, which the child of such a fork would find locked for good."""
    fork_waits: list[bool] = []

    def asked() -> str:
        fork = threading.Thread(target=lambda: fork_waits.append(not LATE_IMPORTS.acquire(blocking=False)))
        fork.start()
        fork.join()
        return host().triple

    monkeypatch.setattr(llvmlite.binding, "get_process_triple", asked)
    assert host.__wrapped__() == host()
    assert fork_waits == [True]


def test_a_collection_does_not_wait_for_a_thread_that_compiles() -> None:
    """It may run under any lock, which that thread, or one that forks, may be waiting for."""
    libraries = [compile_and_load(SEVEN, ["seven"])]
    forgotten = jit._FORGOTTEN  # pyright: ignore[reportPrivateUsage]
    collector = threading.Thread(target=libraries.clear, daemon=True)
    with jit._LOCK:  # pyright: ignore[reportPrivateUsage]
        collector.start()
        collector.join(20)
        assert not collector.is_alive()
        assert len(forgotten) == 1
    compile_and_load(SEVEN, ["seven"])
    assert not forgotten
