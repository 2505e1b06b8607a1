"""Object files that TVM made, loaded by our JIT: the same for code that was just compiled and for code from the disk.

TVM's code reaches its runtime through pointers that its loader sets, by name; here we set them. Parallel loops go to
our pool, and functions are looked up in the registry:

    int lookup(void* library, const char* name, void** function)
"""

import ctypes
import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from tilewright.backends.llvm.jit import compile_and_load, load
from tilewright.backends.llvm.text import Module, Parameter
from tilewright.backends.llvm.types import I32, I64, PTR, VOID
from tilewright.backends.llvm.values import NULL, constant
from tilewright.backends.simd.tirx_launcher import pool_launcher
from tilewright.bridge.tirx.door import Door, open_door
from tilewright.bridge.tirx.packed import PackedEntry, packed_entry
from tilewright.core.locks import ChildLock
from tilewright.ir.kernel import Kernel

__all__ = ["load_code"]

_ENTRY, _LOOKUP = "__tvm_ffi_main", "lookup"
_POINTER = re.compile(r"^@(__\w+) = linkonce .*global ptr null", re.MULTILINE)
_LIBRARY = "__tvm_ffi__library_ctx"  # a module in whose imports TVM would look first; there is none
_LOCK = ChildLock()
_ERROR = tuple(map(ctypes.create_string_buffer, (b"RuntimeError", b"a function is no longer registered")))


def load_code(image: bytes, source: str, kernel: Kernel) -> PackedEntry:
    """The entry of a kernel whose object file and LLVM these are. The code lives as long as its entry.

    Raises ToolchainError (TW511) for a damaged image or a function that the process lacks, and CapabilityError (TW472)
    for a pointer that this TVM does not know.
    """
    door, pointers = open_door(), _POINTER.findall(source)
    with _LOCK:
        ours = _our_functions(door)
    library = load(image, [_ENTRY, *pointers], name=kernel.name)
    for name in pointers:
        address = ours[name] if name in ours else door.runtime_function(name)
        ctypes.c_void_p.from_address(library.address(name)).value = address
    return packed_entry(kernel, door.function_at(library.address(_ENTRY), library))


@cache
def _our_functions(door: Door) -> Mapping[str, int]:
    """What stands in the pointers that are not TVM's functions."""
    imports = {name: door.symbol(name) for name in ("TVMFFIFunctionGetGlobal", "TVMFFIErrorSetRaisedFromCStr")}
    code = compile_and_load(_lookup_module().text(), [_LOOKUP], imports=imports, name=_LOOKUP)
    code.keep()  # loaded kernels may call it until the process ends
    found = {
        "__TVMFFIEnvModLookupFromImports": code.address(_LOOKUP),
        "__TVMBackendParallelLaunch": pool_launcher(),
        _LIBRARY: 0,
    }
    return MappingProxyType(found)


def _lookup_module() -> Module:
    """The registry takes a name with its length. The reference that it gives is never returned: functions stay."""
    module = Module()
    f = module.function(_LOOKUP, [Parameter("library", PTR), Parameter("name", PTR), Parameter("found", PTR)], I32)
    name, found = f.argument("name"), f.argument("found")
    text = f.alloca(I64, 2, 8)
    f.store(name, text)
    f.store(f.call_external(I64, "strlen", [name]), f.byte_offset(text, 8))
    code = f.call_external(I32, "TVMFFIFunctionGetGlobal", [text, found])
    with f.when(f.icmp("eq", f.load(PTR, found), NULL)):
        reasons = [f.inttoptr(constant(I64, ctypes.addressof(each)), PTR) for each in _ERROR]
        f.call_external(VOID, "TVMFFIErrorSetRaisedFromCStr", reasons)
        f.ret(constant(I32, -1))
    f.ret(code)
    return module
