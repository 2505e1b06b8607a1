"""Content hashes that are the same in every process: type-tagged, length-prefixed, order sensitive."""

import dataclasses
import enum
import hashlib
import os
import struct
import time
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

from .codes.internal import NOT_DIGESTIBLE
from .dtypes import DType
from .errors import InternalError
from .source import UNKNOWN

__all__ = ["COMPILER_DIGEST", "compiler_digest", "digest", "sources_digest"]

_LOADED = time.time()
COMPILER_DIGEST: str  # computed at first use, see __getattr__


def digest(*parts: object) -> str:
    """SHA-256 of the parts as hexadecimal text.

    Takes None, bool, int, float, str, bytes, dtypes, enum members, paths, dataclasses, and sequences, sets and
    mappings of these; sets and mappings count as unordered. Raises InternalError (TW902) for anything else.
    """
    return hashlib.sha256(_encode(parts)).hexdigest()


@cache
def compiler_digest() -> str:
    """The digest of our own source files: a cached artifact is valid for exactly one compiler."""
    return sources_digest(Path(__file__).parents[1], _LOADED)


def sources_digest(root: Path, loaded: float) -> str:
    """The digest of the Python files below a folder, for a process that loaded them at this time.

    A file that changed since then is not what runs here, so such a process shares its digest with no other.
    """
    total, newest = hashlib.sha256(), 0.0
    for name, path in _sources(str(root)):
        with open(path, "rb", buffering=0) as file:  # a tenth of the time that pathlib takes
            newest = max(newest, os.fstat(file.fileno()).st_mtime)
            total.update(_joined((name, file.read())))
    if loaded < newest <= time.time():
        total.update(os.urandom(16))
    return total.hexdigest()


def _sources(folder: str, inside: str = "") -> Iterator[tuple[str, str]]:
    for entry in sorted(os.scandir(folder), key=attrgetter("name")):
        if entry.is_dir():
            yield from _sources(entry.path, f"{inside}{entry.name}/")
        elif entry.name.endswith(".py"):
            yield inside + entry.name, entry.path


def __getattr__(name: str) -> str:
    if name == "COMPILER_DIGEST":
        return compiler_digest()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _encode(value: Any) -> bytes:
    tag, body = _tagged(value)
    return b"%b:%d:%b" % (tag, len(body), body)


def _tagged(value: Any) -> tuple[bytes, bytes]:
    if isinstance(value, enum.Enum):  # before int and str, which a member may also be
        return b"enum", _joined([type(value).__qualname__, value.name, value.value])
    if isinstance(value, type):
        return _named(cast("type[object]", value))
    if dataclasses.is_dataclass(value):
        fields = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
        return b"record", _joined([type(value).__qualname__, *fields])
    scalar = _scalar(value)
    return scalar if scalar is not None else _container(value)


def _named(value: type[object]) -> tuple[bytes, bytes]:
    if issubclass(value, DType):
        return b"dtype", value.name.encode()
    raise InternalError(NOT_DIGESTIBLE.at(UNKNOWN, type=value.__qualname__))


def _scalar(value: Any) -> tuple[bytes, bytes] | None:
    match value:
        case None:
            return b"none", b""
        case bool():
            return b"bool", b"%d" % value
        case int():
            return b"int", str(value).encode()
        case float():
            return b"float", struct.pack("<d", value)
        case str():
            return b"str", value.encode()
        case bytes() | bytearray():
            return b"bytes", bytes(value)
        case Path():
            return b"path", value.as_posix().encode()
        case _:
            return None


def _container(value: Any) -> tuple[bytes, bytes]:
    match value:
        case Mapping():
            items = cast("Mapping[Any, Any]", value).items()
            return b"map", b"".join(sorted(_joined(item) for item in items))
        case AbstractSet():
            return b"set", b"".join(sorted(map(_encode, cast("AbstractSet[Any]", value))))
        case tuple():
            return b"tuple", _joined(cast("tuple[Any, ...]", value))
        case list():
            return b"list", _joined(cast("list[Any]", value))
        case _:
            raise InternalError(NOT_DIGESTIBLE.at(UNKNOWN, type=type(value).__qualname__))


def _joined(values: Iterable[object]) -> bytes:
    return b"".join(map(_encode, values))
