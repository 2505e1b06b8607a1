"""Tables of direct calls, served by generated code: NumPy arrays in, launch, no Python in between."""

import ctypes
import os
import sys
import sysconfig
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

import numpy as np

from tilewright.backends.llvm.jit import compile_and_load
from tilewright.backends.llvm.target import host
from tilewright.backends.simd.direct_code import EXPORTS, FALSE, PYTHON, TRUE, direct_module
from tilewright.backends.simd.direct_layout import ARRAY, CAPACITY, HEAD, MAX_ARGUMENTS, TABLE
from tilewright.backends.simd.shader import DirectCode, SIMDShader
from tilewright.numerics.arrays import Array
from tilewright.runtime.direct import DirectArgument, DirectCall, Identity
from tilewright.runtime.interface import NativeShader

__all__ = ["ArrayCalls", "array_calls", "is_as_expected"]

_LONG_SECONDS = 5e-6  # a launch from this length on lets other Python threads run
_CALIBRATION_SECONDS = 100e-6
_METH_FASTCALL = 0x80
_SCRATCH_ALIGNMENT = 64
_LOCK = threading.RLock()
os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)

_word_at = ctypes.c_int64.from_address


class _Method(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@dataclass(frozen=True, slots=True)
class _Record:
    """The memory of one record and everything its words point to."""

    words: Array
    keeps: tuple[object, ...]


class _Machinery:
    """The generated code, once a process and for good."""

    def __init__(self) -> None:
        imports = {name: _address(getattr(ctypes.pythonapi, name)) for name in PYTHON}
        imports.update({TRUE: id(True), FALSE: id(False)})
        library = compile_and_load(direct_module(host()).text(), EXPORTS, imports=imports, name="direct")
        library.keep()
        self._method = _Method(b"direct_call", library.address("direct_call"), _METH_FASTCALL, None)
        self._make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)(
            ("PyCFunction_NewEx", ctypes.pythonapi)
        )
        self._ticks = ctypes.PYFUNCTYPE(ctypes.c_int64)(library.address("direct_ticks"))
        self.threshold = self._long()
        self._spare = _word_at(ctypes.CFUNCTYPE(ctypes.c_void_p)(library.address("direct_spare"))())
        self._blocks: list[Array] = []
        os.register_at_fork(after_in_child=self._publish)

    def entry(self, table: Array, records: list[_Record]) -> Any:
        """The function that serves a table. It keeps both alive, the records in the place of its module."""
        return self._make(ctypes.addressof(self._method), table, records)

    def _long(self) -> int:
        """How many ticks make a long launch; 0, so that every launch is one, without a clock."""
        start, first = time.perf_counter(), self._ticks()
        while (spent := time.perf_counter() - start) < _CALIBRATION_SECONDS:
            pass
        return int((self._ticks() - first) / spent * _LONG_SECONDS)

    def provide_scratch(self, size_bytes: int) -> None:
        """A spare block of at least this size. Blocks are never freed: each is twice as large as the one before."""
        with _LOCK:
            have = int(self._blocks[-1].size) * 8 if self._blocks else 0
            if size_bytes > have - 2 * _SCRATCH_ALIGNMENT:
                size = max(size_bytes, 2 * have) + 2 * _SCRATCH_ALIGNMENT
                self._blocks.append(np.empty(-(-size // 8), np.int64))
                self._publish()

    def _publish(self) -> None:
        """Hands out the largest block. In a forked child the thread that had it may not exist."""
        if self._blocks:
            block = self._blocks[-1]
            first = _data(block) + _SCRATCH_ALIGNMENT
            first += -first % _SCRATCH_ALIGNMENT
            _word_at(first - 8).value = _data(block) + block.nbytes - first
            self._spare.value = first


class ArrayCalls:
    """A table of the latest calls of one kernel."""

    def __init__(self, machinery: _Machinery) -> None:
        self._machinery = machinery
        self._table = np.zeros(TABLE.records + CAPACITY, np.int64)
        self._table[TABLE.threshold] = machinery.threshold
        self._records: list[_Record] = []
        self.entry = machinery.entry(self._table, self._records)

    def add(self, shader: NativeShader, call: DirectCall, /) -> None:
        """As DirectTable.add; shaders of several launches, and calls with many arguments, are left to Python."""
        if not isinstance(shader, SIMDShader) or len(call.arguments) > MAX_ARGUMENTS:
            return
        code = shader.direct_code()
        if code.scratch_bytes:
            self._machinery.provide_scratch(code.scratch_bytes)
        record = _record(code, call)
        with _LOCK:
            records = [record, *self._records[: CAPACITY - 1]]
            self._table[TABLE.records : TABLE.records + len(records)] = [_data(each.words) for each in records]
            self._table[TABLE.count] = len(records)
            self._records[:] = records  # the oldest goes only now


def array_calls() -> ArrayCalls | None:
    """A new table; None where Python's objects are not as the generated code expects."""
    with _LOCK:
        machinery = _machinery()
    return None if machinery is None else ArrayCalls(machinery)


@cache
def _machinery() -> _Machinery | None:
    return _Machinery() if is_as_expected() else None


def is_as_expected() -> bool:
    """Whether objects and arrays lie in memory as the generated code reads them."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    if object.__basicsize__ != ARRAY.data or ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return False
    base = np.zeros(24, np.float32)
    frozen = np.arange(6).reshape(1, 2, 3)
    frozen.flags.writeable = False
    tries = [base, base[3:], base[::-2], base.reshape(2, 3, 4).T, np.zeros((0, 4)), np.array(1.0, np.float16), frozen]
    return all(map(_is_read_right, tries))


def _is_read_right(array: Array) -> bool:
    word, address = ctypes.c_int64.from_address, id(array)
    flags, rank = (ctypes.c_int32.from_address(address + at).value for at in (ARRAY.flags, ARRAY.rank))
    found = [word(address + at).value for at in (ARRAY.type, ARRAY.data, ARRAY.dtype)]
    known = [id(type(array)), array.__array_interface__["data"][0], id(array.dtype)]
    if (found, flags & 0xFFFF_FFFF, rank) != (known, array.flags.num, array.ndim):
        return False
    if not rank:
        return True
    shape, strides = (word(address + at).value for at in (ARRAY.shape, ARRAY.strides))
    if not shape or strides != shape + 8 * rank:  # NumPy keeps them together; nothing else is followed
        return False
    read = [word(shape + 8 * place).value for place in range(2 * rank)]
    return read == [*array.shape, *array.strides]


def _address(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # pyright: ignore[reportArgumentType]


def _data(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def _record(code: DirectCode, call: DirectCall) -> _Record:
    """Head, rows of arguments, guards and pairs, the order of buffers, and the extents, in one block."""
    present = [position for position, each in enumerate(call.arguments) if each is not None]
    rows = [_argument(each) for each in call.arguments]
    guards = [*chain.from_iterable(map(_guard, call.identities))]
    pairs = [*chain.from_iterable(_pair(code.sizes, present, pair) for pair in sorted(code.disjoint))]
    order = [present[position] for position in code.argument_order]
    parts: list[list[int]] = [[0] * HEAD.words, [*chain.from_iterable(rows)], guards, pairs, order]
    parts.extend([*each.shape, *each.strides] if each is not None else [] for each in call.arguments)
    words = np.array([*chain.from_iterable(parts)], np.int64)
    starts = [_data(words) + 8 * sum(map(len, parts[:place])) for place in range(len(parts))]
    record = _Record(words, (call, code))
    _fill_head(words, record, code, call, starts)
    for place in range(len(rows)):
        words[HEAD.words + len(rows[place]) * (place + 1) - 1] = starts[5 + place]
    return record


def _fill_head(words: Array, record: _Record, code: DirectCode, call: DirectCall, starts: Sequence[int]) -> None:
    _, _, guards, pairs, order = starts[:5]
    values = {
        HEAD.owner: id(record),
        HEAD.release: 1,
        HEAD.code: code.address,
        HEAD.arguments: len(call.arguments),
        HEAD.buffers: len(code.argument_order),
        HEAD.order: order,
        HEAD.guard_count: len(call.identities),
        HEAD.guards: guards,
        HEAD.pair_count: len(code.disjoint),
        HEAD.pairs: pairs,
        HEAD.scratch_bytes: code.scratch_bytes,
        HEAD.worker_bytes: code.worker_bytes,
        HEAD.threads: code.threads,
    }
    for word, value in values.items():
        words[word] = value


def _argument(given: DirectArgument | None) -> list[int]:
    """A row of ARGUMENT; its last word is filled in when the block has its place."""
    if given is None:
        return [id(type(None)), 0, -1, 0, 0, 0, 0]
    misalignment = 0 if 0 in given.shape else given.alignment - 1
    return [id(np.ndarray), id(given.dtype), len(given.shape), given.flags_mask, given.flags, misalignment, 0]


def _guard(identity: Identity) -> Iterable[int]:
    name = 0 if identity.name is None else id(identity.name)
    return id(identity.container), name, 0 if identity.missing else id(identity.value)


def _pair(sizes: Sequence[int], present: Sequence[int], pair: tuple[int, int]) -> Iterable[int]:
    first, second = pair
    return present[first], sizes[first], present[second], sizes[second]
