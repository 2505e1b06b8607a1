"""What generated code and Python agree on for direct calls: the words of a table, of its records, and NumPy's fields.

A table is an array of 64-bit words: COUNT, THRESHOLD, then the addresses of its records. A record is a block of words:
its head, then its parts one after the other, each a run of rows of the same size.
"""

from dataclasses import dataclass

__all__ = ["ARGUMENT", "ARRAY", "CAPACITY", "GUARD", "HEAD", "MAX_ARGUMENTS", "PAIR", "TABLE"]

CAPACITY = 8  # records of one table
MAX_ARGUMENTS = 24


@dataclass(frozen=True, slots=True)
class _Table:
    """Words of a table."""

    count: int = 0
    threshold: int = 1  # ticks from which a launch counts as long
    records: int = 2


@dataclass(frozen=True, slots=True)
class _Head:
    """Words at the head of a record.

    owner:          the Python object that keeps the record and its code
    release:        1: the interpreter lock is released during the launch; written after each launch
    scratch_bytes:  of all workers together
    guards, pairs, order: address of the part
    """

    owner: int = 0
    release: int = 1
    code: int = 2
    arguments: int = 3
    buffers: int = 4
    order: int = 5
    guard_count: int = 6
    guards: int = 7
    pair_count: int = 8
    pairs: int = 9
    scratch_bytes: int = 10
    worker_bytes: int = 11
    threads: int = 12
    words: int = 13


@dataclass(frozen=True, slots=True)
class _Argument:
    """Words of an argument's row. An absent argument has the type of None and rank -1."""

    type: int = 0
    dtype: int = 1
    rank: int = 2
    flags_mask: int = 3
    flags: int = 4
    misalignment: int = 5  # bits of the address that must be 0
    shape: int = 6  # address of the extents; the strides in bytes follow them
    words: int = 7


@dataclass(frozen=True, slots=True)
class _Guard:
    """Words of a guard's row: `container[name] is value`; value 0: there is no such name; name 0: a cell."""

    container: int = 0
    name: int = 1
    value: int = 2
    words: int = 3


@dataclass(frozen=True, slots=True)
class _Pair:
    """Words of a row for two arguments that must not overlap."""

    first: int = 0
    first_bytes: int = 1
    second: int = 2
    second_bytes: int = 3
    words: int = 4


@dataclass(frozen=True, slots=True)
class _Array:
    """Byte offsets inside NumPy's array object on 64-bit CPython; `direct.is_as_expected` tries them."""

    type: int = 8
    data: int = 16
    rank: int = 24
    shape: int = 32
    strides: int = 40
    dtype: int = 56
    flags: int = 64


TABLE, HEAD, ARGUMENT, GUARD, PAIR, ARRAY = _Table(), _Head(), _Argument(), _Guard(), _Pair(), _Array()
