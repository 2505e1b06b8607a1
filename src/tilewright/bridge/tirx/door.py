"""The one door to Apache TVM. Nothing else in the package names `tvm`, and it is imported when a kernel asks for it.

TVM's own thread pool reads the environment once, takes half of the threads and binds the caller to core 0; both are
set otherwise before the import, and a device may put its own pool in its place. The import replaces `sys.excepthook`,
which is put back.
"""

import ctypes
import sys
import threading
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, cast

from tilewright.core.codes.unsupported import PROVIDER_ABSENT, ROUTE_NOT_INSTALLED, TVM_RIVAL, TVM_SYMBOL, TVM_VERSION
from tilewright.core.config import config, offer
from tilewright.core.errors import CapabilityError
from tilewright.core.source import user_span

__all__ = [
    "EXTRA", "PINNED", "Door", "LLVMMismatchWarning", "open_door", "require_functions", "require_installed",
    "require_symbols", "warn_of_llvm",
]  # fmt: skip

EXTRA = "tirx"
PINNED = (("apache-tvm", "0.27.0.post1"), ("apache-tvm-ffi", "0.1.14.post1"))
_RIVAL = "tvm_tirx"
_LAUNCHER = b"__TVMBackendParallelLaunch"
_LOCK = threading.Lock()


class LLVMMismatchWarning(UserWarning):
    """TVM and llvmlite bring different LLVMs, so the two routes may optimise differently."""


@dataclass(frozen=True, slots=True)
class Door:
    """The modules of TVM that this package uses. What they hold has no types of its own."""

    tvm: Any
    ffi: Any
    tirx: Any
    codegen: Any
    llvm_major: int

    @property
    def transform(self) -> Any:
        """The passes on TIRx."""
        return self.tirx.transform

    def cpu(self) -> str:
        """The name that LLVM has for this processor. `native` would silently mean a generic one."""
        return str(self.codegen.llvm_get_system_cpu())

    def has_function(self, name: str) -> bool:
        """Whether TVM's registry knows a function, which code may call by its name."""
        return self.tvm.get_global_func(name, allow_missing=True) is not None

    def symbol(self, name: str) -> int:
        """The address of a C function of TVM's."""
        return ctypes.cast(getattr(self.ffi.LIB, name), ctypes.c_void_p).value or 0

    def register_function(self, name: str, address: int) -> None:
        """Enters machine code with the calling convention of the registry under a free name, for good."""
        self.ffi.register_global_func(name, self.ffi.Function.__from_extern_c__(address))

    def function_at(self, address: int, owner: object) -> Any:
        """Machine code with the calling convention of the registry as a function, which keeps `owner` alive."""
        return self.ffi.Function.__from_extern_c__(address, keep_alive_object=owner)

    def runtime_function(self, pointer: str) -> int:
        """The address that TVM's own loader would put into a pointer of this name in code that TVM compiled.

        Raises CapabilityError (TW472) for a name that this TVM does not know.
        """
        name = pointer.removeprefix("__")
        require_symbols(frozenset({name}), needed_by="code that TVM compiled")
        return ctypes.cast(getattr(_process(), name), ctypes.c_void_p).value or 0

    def use_launcher(self, address: int) -> None:
        """Code that is loaded from now on calls the function at `address` to run a parallel loop.

        It holds for all of TVM in this process; code that is loaded already keeps TVM's own pool.
        """
        register = self.ffi.LIB.TVMFFIEnvModRegisterContextSymbol
        register.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
        register(_LAUNCHER, address)


def open_door() -> Door:
    """TVM, imported at the first call.

    Raises CapabilityError: TW403 when a package of the extra is missing, TW470 for another version than the pinned
    one, TW471 when the separate package `tvm_tirx` is loaded, beside which TVM would abort the process.
    """
    with _LOCK:
        return _door()


@cache
def _door() -> Door:
    require_installed()
    offer("TVM_BIND_THREADS", "0")
    offer("TVM_NUM_THREADS", str(config().num_threads))
    hook = sys.excepthook
    try:
        tvm, ffi = import_module("tvm"), import_module("tvm_ffi")
        tirx, codegen = import_module("tvm.tirx"), import_module("tvm.target.codegen")
    except (ImportError, OSError) as error:
        raise _missing() from error
    finally:
        sys.excepthook = hook
    door = Door(tvm, ffi, tirx, codegen, int(cast("Any", codegen).llvm_version_major()))
    loaded = cast("Any", sys.modules.get("llvmlite.binding"))
    if loaded is not None:
        warn_of_llvm(door, int(loaded.llvm_version_info[0]))
    return door


def require_installed() -> None:
    """Raises what `open_door` raises where TVM cannot be used, without loading it."""
    if _RIVAL in sys.modules:
        raise CapabilityError(TVM_RIVAL.at(user_span(), rival=_RIVAL))
    for package, wanted in PINNED:
        try:
            found = version(package)
        except PackageNotFoundError as error:
            raise _missing() from error
        if found != wanted:
            raise CapabilityError(TVM_VERSION.at(user_span(), package=package, found=found, wanted=wanted, extra=EXTRA))


def _missing() -> CapabilityError:
    return CapabilityError(ROUTE_NOT_INSTALLED.at(user_span(), lowering="TIRX", extra=EXTRA))


def warn_of_llvm(door: Door, other_major: int) -> None:
    """Warns when llvmlite's LLVM has another major version than TVM's."""
    if door.llvm_major != other_major:
        text = f"TVM brings LLVM {door.llvm_major} and llvmlite LLVM {other_major}: the two routes may differ in speed"
        warnings.warn(text, LLVMMismatchWarning, stacklevel=2)


def require_symbols(names: frozenset[str], *, needed_by: str) -> None:
    """Raises CapabilityError (TW472) for functions that the process lacks: a call to one would end it."""
    process = _process()
    missing = sorted(name for name in names if not hasattr(process, name))
    if missing:
        raise CapabilityError(TVM_SYMBOL.at(user_span(), kernel=needed_by, symbols=", ".join(missing)))


def require_functions(door: Door, names: Iterable[str], *, needed_by: str) -> None:
    """Raises CapabilityError (TW474) for functions that TVM's registry does not know: a call would fail when it is
    made.
    """
    missing = sorted({name for name in names if not door.has_function(name)})
    if missing:
        raise CapabilityError(PROVIDER_ABSENT.at(user_span(), kernel=needed_by, names=", ".join(missing)))


def _process() -> object:
    """Everything that code loaded here can call."""
    return ctypes.CDLL(None)
