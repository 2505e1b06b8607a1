"""Text to machine code to callable addresses.

IR passes never run: the text is already loops over native vectors, and code generation at level 3 makes the same code
from it in half the time. One ORC JIT serves the process and lives as long as it does.
"""

import itertools
import os
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache
from typing import TYPE_CHECKING

from tilewright.backends.llvm.target import Target, data_layout, host, target_machine
from tilewright.core.codes.toolchain import LLVM_NOT_LINKED, LLVM_REJECTED
from tilewright.core.config import config
from tilewright.core.errors import ToolchainError
from tilewright.core.source import UNKNOWN

if TYPE_CHECKING:
    from llvmlite.binding import LLJIT, ModuleRef, ResourceTracker

# llvmlite serialises its calls itself; ours adds whole sequences of calls, and that no fork happens inside one.
_LOCK = threading.RLock()
os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)
_NUMBERS = itertools.count()
_FORGOTTEN: "deque[ResourceTracker]" = deque()
"""Code to unload. A collection may find it in any thread, under any lock, so it cannot wait for `_LOCK` there."""


def compile_object(text: str, target: Target | None = None, *, name: str = "module") -> bytes:
    """The object file of a module. `target` defaults to the host.

    Raises ToolchainError: TW510 for text that LLVM does not take (the text is kept in `.artifact`), TW512 for a target.
    """
    chosen = target or host()
    with _LOCK, _verified(text, chosen, name) as module:
        return target_machine(chosen).emit_object(module)


def assembly(text: str, target: Target | None = None, *, name: str = "module") -> str:
    """The same machine code as assembly text."""
    chosen = target or host()
    with _LOCK, _verified(text, chosen, name) as module:
        return target_machine(chosen).emit_assembly(module)


@contextmanager
def _verified(text: str, target: Target, name: str) -> "Generator[ModuleRef]":
    """A parsed and verified module in a context of its own, so that nothing outlives it."""
    from tilewright.backends.llvm._llvmlite import llvm

    try:
        with closing(llvm.create_context()) as context, closing(llvm.parse_assembly(text, context)) as module:
            module.name = name
            module.triple = target.triple
            module.data_layout = data_layout(target)
            module.verify()
            yield module
    except RuntimeError as error:
        kept = _keep(text.encode(), name, ".ll")
        diagnostic = LLVM_REJECTED.at(UNKNOWN, name=name, reason=str(error).strip(), artifact=kept)
        raise ToolchainError(diagnostic, log=str(error), artifact=kept) from error


def _keep(content: bytes, name: str, suffix: str) -> str:
    """Writes what failed where it can be looked at, and says where."""
    stem = "".join(c if c.isalnum() else "-" for c in name)
    try:
        handle, path = tempfile.mkstemp(prefix=f"tilewright-{stem}-", suffix=suffix, dir=config().dump_dir)
        with open(handle, "wb") as file:
            file.write(content)
    except OSError as error:
        return f"(not kept: {error})"
    return path


class Library:
    """Loaded machine code. Addresses are valid until `close`, or until the library is collected."""

    def __init__(self, tracker: "ResourceTracker", addresses: Mapping[str, int]) -> None:
        self._addresses = dict(addresses)
        self._unload = weakref.finalize(self, _close, tracker)
        self._unload.atexit = False  # at exit threads may still run this code, and the process frees it anyway

    def address(self, symbol: str) -> int:
        """The address of an exported symbol. Raises KeyError for another name and after `close`."""
        return self._addresses[symbol]

    def close(self) -> None:
        """Unloads the code, now or when LLVM is used next. The caller knows that no thread is inside it. Closing twice
        is harmless.
        """
        self._addresses.clear()
        self._unload()

    def keep(self) -> None:
        """Never unload: for code that threads of its own run until the process ends."""
        kept = self._unload.detach()
        if kept is not None:
            kept[2][0].detach()

    @property
    def closed(self) -> bool:
        return not self._unload.alive


def _close(tracker: "ResourceTracker") -> None:
    _FORGOTTEN.append(tracker)
    if _LOCK.acquire(blocking=False):
        try:
            _unload_forgotten()
        finally:
            _LOCK.release()


def _unload_forgotten() -> None:
    """Called under the lock."""
    while _FORGOTTEN:
        _FORGOTTEN.popleft().close()


def load(
    image: bytes, exports: Sequence[str], *, imports: Mapping[str, int] | None = None, name: str = "module"
) -> Library:
    """Links an object file into the process. Its other undefined symbols come from the process itself.

    Raises ToolchainError (TW511) for a damaged image, a missing export or a symbol without address.
    """
    from tilewright.backends.llvm._llvmlite import llvm

    builder = llvm.JITLibraryBuilder().add_object_img(image).add_current_process()
    for symbol, address in (imports or {}).items():
        builder.import_symbol(symbol, address)
    for symbol in exports:
        builder.export_symbol(symbol)
    with _LOCK:
        _unload_forgotten()
        try:
            tracker = builder.link(_process_jit(), f"{name}.{next(_NUMBERS)}")
        except RuntimeError as error:
            kept = _keep(image, name, ".o")
            diagnostic = LLVM_NOT_LINKED.at(UNKNOWN, name=name, reason=str(error).strip(), artifact=kept)
            raise ToolchainError(diagnostic, log=str(error), artifact=kept) from error
    return Library(tracker, {symbol: tracker[symbol] for symbol in exports})


@cache
def _process_jit() -> "LLJIT":
    """The JIT of this process. Called under the lock. Never disposed: pool workers run its code until the end."""
    from tilewright.backends.llvm._llvmlite import llvm

    return llvm.create_lljit_compiler(target_machine(host()), suppress_errors=True)


def compile_and_load(
    text: str, exports: Sequence[str], *, imports: Mapping[str, int] | None = None, name: str = "module"
) -> Library:
    """`compile_object` for the host and `load` in one step."""
    return load(compile_object(text, name=name), exports, imports=imports, name=name)
