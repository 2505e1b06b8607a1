"""Functions that TVM's code may call by name, in machine code: each takes the calling convention of TVM's registry.

    int function(void* self, const argument* arguments, int count, argument* result)

An argument is 16 bytes: what it is, as i32, and eight bytes later its value or address. 0 says that all went well.
"""

import ctypes
import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

from tilewright.backends.llvm.jit import compile_and_load
from tilewright.backends.llvm.text import Function, Module, Parameter
from tilewright.backends.llvm.types import FLOAT, I8, I32, I64, PTR, VOID
from tilewright.backends.llvm.values import NULL, Value, constant
from tilewright.backends.simd.tirx_vector_math import vector_functions
from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.options import TirxOptions
from tilewright.bridge.tirx.providers.choices import CBLAS_MATMUL, VECTOR, CpuMathBackend, CpuMatrixBackend
from tilewright.core.config import config
from tilewright.core.locks import ChildLock

__all__ = ["openblas_sgemm", "register_functions"]

_LOCK = ChildLock()
_ACCELERATE = "/System/Library/Frameworks/Accelerate.framework/Accelerate"
_WORD, _ARGUMENT, _VALUE = 8, 16, 8
_TENSOR, _HEADER = 70, 24  # an object of TVM's that begins with a header; else the argument is a DLTensor itself
_RANK, _DTYPE, _SHAPE, _STRIDES, _OFFSET = 16, 20, 24, 32, 40  # bytes from the start of a DLTensor
_FLOAT32 = 2 | 32 << 8 | 1 << 16  # its kind, bits and lanes
_ERROR = tuple(map(ctypes.create_string_buffer, (b"TypeError", b"matmul takes compact float32 matrices")))
_ROW_MAJOR, _PLAIN, _TURNED = 101, 111, 112
_PACKED = [Parameter("self", PTR), Parameter("arguments", PTR), Parameter("count", I32), Parameter("result", PTR)]


def register_functions(door: Door, options: TirxOptions) -> None:
    """What the options ask for, under names that are free. A function that cannot be had stays unregistered."""
    with _LOCK:
        if options.cpu_matrix_backend is CpuMatrixBackend.CBLAS and not door.has_function(CBLAS_MATMUL):
            address = _matmul(door)
            if address is not None:
                door.register_function(CBLAS_MATMUL, address)
        if options.cpu_math_backend is CpuMathBackend.VECTOR and not door.has_function(VECTOR.exp):
            for name, address in _vector_math().items():
                door.register_function(name, address)
        if options.cpu_math_backend is CpuMathBackend.ACCELERATE and sys.platform == "darwin":
            ctypes.CDLL(_ACCELERATE, mode=ctypes.RTLD_GLOBAL)  # its functions are called as symbols of the process


def _argument(f: Function, place: int) -> Value:
    """The value or address of an argument."""
    return f.byte_offset(f.argument("arguments"), place * _ARGUMENT + _VALUE)


# ---- vector math


@cache
def _vector_math() -> Mapping[str, int]:
    """The addresses of functions (input, output, count), each under the name of the registry."""
    names = {"exp": VECTOR.exp, **VECTOR.folds}
    plain = vector_functions()
    module = Module()
    for kind in names:
        f = module.function(f"packed_{kind}", _PACKED, I32)
        source, target, count = (f.load(each, _argument(f, place)) for place, each in enumerate((PTR, PTR, I64)))
        f.call_external(VOID, f"vector_{kind}", [source, target, count])
        f.ret(constant(I32, 0))
    exports, imports = [f"packed_{kind}" for kind in names], {f"vector_{kind}": plain[kind] for kind in names}
    code = compile_and_load(module.text(), exports, imports=imports, name="vector math")
    code.keep()  # TVM's registry may call it until the process ends
    return {name: code.address(f"packed_{kind}") for kind, name in names.items()}


# ---- CBLAS


@cache
def _matmul(door: Door) -> int | None:
    """The address of a function on top of OpenBLAS, or None without the extra that brings it. The name is TVM's, so
    others may call it: what is no compact float32 matrix raises TypeError.
    """
    sgemm = openblas_sgemm()
    if sgemm is None:
        return None
    imports = {"sgemm": sgemm, "set_error": door.symbol("TVMFFIErrorSetRaisedFromCStr")}
    code = compile_and_load(_matmul_module().text(), ["matmul"], imports=imports, name="matmul")
    code.keep()  # TVM's registry may call it until the process ends
    return code.address("matmul")


@cache
def openblas_sgemm() -> int | None:
    """The address of `cblas_sgemm`, on as many threads as kernels have, or None without the extra that brings it."""
    if find_spec("scipy_openblas32") is None:
        return None
    package = cast("Any", import_module("scipy_openblas32"))
    library = ctypes.CDLL(os.path.join(str(package.get_lib_dir()), str(package.get_library(fullname=True))))
    library.scipy_openblas_set_num_threads(config().num_threads)
    return ctypes.cast(library.scipy_cblas_sgemm, ctypes.c_void_p).value


def _matmul_module() -> Module:
    module = Module()
    f = module.function("matmul", _PACKED, I32)
    tensors = [_tensor(f, place) for place in range(3)]
    _refuse_unless_plain(f, tensors)
    turned = [_is_turned(f, place) for place in (3, 4)]
    (a0, a1), (b0, b1), (_, width) = (_extents(f, each) for each in tensors)
    m, k, n = f.select(turned[0], a1, a0), f.select(turned[0], a0, a1), f.select(turned[1], b0, b1)
    ways = [f.select(each, constant(I32, _TURNED), constant(I32, _PLAIN)) for each in turned]
    a, b, c = (_data(f, each) for each in tensors)
    one, zero = constant(FLOAT, 1.0), constant(FLOAT, 0.0)
    f.call_external(VOID, "sgemm", [constant(I32, _ROW_MAJOR), *ways, m, n, k, one, a, a1, b, b1, zero, c, width])
    f.ret(constant(I32, 0))
    return module


def _tensor(f: Function, place: int) -> Value:
    kind = f.load(I32, f.byte_offset(f.argument("arguments"), place * _ARGUMENT))
    address = f.load(PTR, _argument(f, place))
    return f.select(f.icmp("eq", kind, constant(I32, _TENSOR)), f.byte_offset(address, _HEADER), address)


def _refuse_unless_plain(f: Function, tensors: Sequence[Value]) -> None:
    rank = constant(I32, 2)
    _fail_if_any(f, [f.icmp("ne", f.load(I32, f.byte_offset(each, _RANK)), rank) for each in tensors])
    _fail_if_any(f, [odd for each in tensors for odd in _oddities(f, each)])


def _oddities(f: Function, tensor: Value) -> list[Value]:
    """Of a matrix: whether it is of another type than float32, and whether a stride is not that of a compact one."""
    width = f.load(I64, f.byte_offset(f.load(PTR, f.byte_offset(tensor, _SHAPE)), _WORD))
    compact = f.alloca(I64, 2, _WORD)  # what an address of no strides stands for
    f.store(width, compact)
    f.store(constant(I64, 1), f.byte_offset(compact, _WORD))
    stated = f.load(PTR, f.byte_offset(tensor, _STRIDES))
    steps = f.select(f.icmp("eq", stated, NULL), compact, stated)
    return [
        f.icmp("ne", f.load(I32, f.byte_offset(tensor, _DTYPE)), constant(I32, _FLOAT32)),
        f.icmp("ne", f.load(I64, steps), width),
        f.icmp("ne", f.load(I64, f.byte_offset(steps, _WORD)), constant(I64, 1)),
    ]


def _fail_if_any(f: Function, conditions: Sequence[Value]) -> None:
    first, *rest = conditions
    for each in rest:
        first = f.or_(first, each)
    with f.when(first):
        texts = [f.inttoptr(constant(I64, ctypes.addressof(text)), PTR) for text in _ERROR]
        f.call_external(VOID, "set_error", texts)
        f.ret(constant(I32, -1))


def _is_turned(f: Function, place: int) -> Value:
    return f.icmp("ne", f.load(I64, _argument(f, place)), constant(I64, 0))


def _extents(f: Function, tensor: Value) -> tuple[Value, Value]:
    shape = f.load(PTR, f.byte_offset(tensor, _SHAPE))
    rows, columns = (f.load(I64, f.byte_offset(shape, place * _WORD)) for place in range(2))
    return f.trunc(rows, I32), f.trunc(columns, I32)


def _data(f: Function, tensor: Value) -> Value:
    return f.offset(f.load(PTR, tensor), f.load(I64, f.byte_offset(tensor, _OFFSET)), I8)
