"""Compiled kernels that outlive the process: one file a kernel, written at once, believed only after checks.

A file is a magic line, the SHA-256 of the rest, a JSON header and the machine code. It is read only when this user
owns it and
nobody else may write it, and used only when digest and key agree; anything else is removed and compiled again.
"""

import hashlib
import json
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from platformdirs import user_cache_path

from tilewright.core.abi import KernelArgument, KernelMetadata, Usage
from tilewright.core.config import config
from tilewright.core.dtypes import by_name

__all__ = ["PART", "CodeCache", "StoredKernel", "code_cache", "trusted"]

_MAGIC = b"tilewright-code-1\n"
_SUFFIX = ".twk"
PART = ".part"
_LIMIT_BYTES = 256 << 20
_STALE_SECONDS = 3600.0
_PRUNING = "0"  # one store in sixteen: a large folder takes as long to look through as a small kernel to compile
_OTHERS_WRITE = 0o022


@dataclass(frozen=True, slots=True)
class StoredKernel:
    """What a cache keeps of a compiled kernel."""

    metadata: KernelMetadata
    report: str
    tasks: int
    threads: int
    argument_order: tuple[int, ...]
    scratch_bytes: int
    disjoint: frozenset[tuple[int, int]]
    wakes: bool
    code: bytes
    launch_bytes: int = 0


@dataclass(frozen=True, slots=True)
class CodeCache:
    """A folder of compiled kernels, the oldest of which go when it grows past `limit_bytes`."""

    folder: Path
    limit_bytes: int = _LIMIT_BYTES

    def load(self, key: str) -> StoredKernel | None:
        """The kernel stored under `key`; None when there is none to be trusted."""
        path = self._path(key)
        content = trusted(path)
        if content is None:
            return None
        stored = _decoded(content, key)
        if stored is None:
            _remove(path)
            return None
        _touch(path)
        return stored

    def store(self, key: str, kernel: StoredKernel) -> bool:
        """Writes a kernel; a reader sees all of it or nothing. False when the folder cannot be written."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.folder, suffix=PART)
        except OSError:
            return False
        if not _written(handle, name, self._path(key), _encoded(kernel, key)):
            return False
        if key.startswith(_PRUNING):
            self.prune()
        return True

    def prune(self) -> int:
        """Removes the least recently used kernels past the limit, and what killed writers left; returns how many
        files went.
        """
        files = self.files()
        total = sum(size for _, size, _ in files)
        gone = 0
        for path, size, _ in sorted(files, key=lambda entry: entry[2]):
            if total <= self.limit_bytes:
                break
            total -= size
            gone += _remove(path)
        return gone + sum(_remove(path) for path in self._abandoned())

    def clear(self) -> int:
        """Removes every stored kernel, and what writers left or are writing; returns how many kernels went."""
        for path in self._list(PART):
            _remove(path)
        return sum(_remove(path) for path, _, _ in self.files())

    def files(self) -> list[tuple[Path, int, float]]:
        """Path, bytes and time of last use of every stored kernel."""
        return [entry for path in self._list(_SUFFIX) if (entry := _stated(path)) is not None]

    def _abandoned(self) -> list[Path]:
        old = time.time() - _STALE_SECONDS
        return [path for path in self._list(PART) if (entry := _stated(path)) is not None and entry[2] < old]

    def _list(self, suffix: str) -> list[Path]:
        try:
            return [path for path in self.folder.iterdir() if path.suffix == suffix]
        except OSError:
            return []

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"


def code_cache() -> CodeCache:
    """The cache of this user: TILEWRIGHT_CACHE_DIR, or the platform's folder."""
    return CodeCache(config().cache_dir or user_cache_path("tilewright"))


def trusted(path: Path) -> bytes | None:
    """The content of a file that this user owns and nobody else may have written."""
    try:
        with path.open("rb", buffering=0) as file:
            state = os.fstat(file.fileno())
            owner = getattr(os, "geteuid", lambda: state.st_uid)()
            ours = state.st_uid == owner and not state.st_mode & _OTHERS_WRITE
            return file.read() if ours else None
    except OSError:
        return None


def _written(handle: int, name: str, path: Path, content: bytes) -> bool:
    """Writes all of a file and gives it its name, or leaves nothing."""
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except OSError:
        _remove(Path(name))
        return False
    return True


def _stated(path: Path) -> tuple[Path, int, float] | None:
    try:
        state = path.stat()
    except OSError:
        return None
    return path, state.st_size, state.st_mtime


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True


def _touch(path: Path) -> None:
    """Note the use, where the file system lets us."""
    try:
        os.utime(path)
    except OSError:
        return


def _encoded(kernel: StoredKernel, key: str) -> bytes:
    header = json.dumps({"key": key, **_record(kernel)}, sort_keys=True).encode()
    body = b"%d\n%b%b" % (len(header), header, kernel.code)
    return _MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def _decoded(content: bytes, key: str) -> StoredKernel | None:
    magic, _, rest = content.partition(b"\n")
    digest, _, body = rest.partition(b"\n")
    if magic + b"\n" != _MAGIC or hashlib.sha256(body).hexdigest().encode() != digest:
        return None
    length, _, rest = body.partition(b"\n")
    try:
        record = json.loads(rest[: int(length)])
        return _kernel(record, rest[int(length) :]) if record["key"] == key else None
    except (ValueError, LookupError, TypeError):  # written by something else that knows the magic line
        return None


def _record(kernel: StoredKernel) -> dict[str, Any]:
    meta = kernel.metadata
    return {
        "name": meta.name,
        "dispatch_size": meta.dispatch_size,
        "disjoint_writes": meta.disjoint_writes,
        "source": meta.source,
        "realization": dict(meta.realization),
        "providers": meta.providers,
        "refusals": meta.refusals,
        "arguments": [
            [a.name, a.element.name, a.shape, a.strides, a.minimum_size_bytes, a.usage.value, a.const]
            for a in meta.arguments
        ],
        "report": kernel.report,
        "tasks": kernel.tasks,
        "threads": kernel.threads,
        "argument_order": kernel.argument_order,
        "scratch_bytes": kernel.scratch_bytes,
        "launch_bytes": kernel.launch_bytes,
        "disjoint": sorted(kernel.disjoint),
        "wakes": kernel.wakes,
    }


def _kernel(record: dict[str, Any], code: bytes) -> StoredKernel:
    metadata = KernelMetadata(
        name=record["name"],
        dispatch_size=cast("tuple[int, int, int]", tuple(record["dispatch_size"])),
        arguments=tuple(map(_argument, record["arguments"])),
        disjoint_writes=record["disjoint_writes"],
        source=record["source"],
        realization=MappingProxyType(record["realization"]),
        providers=tuple(record["providers"]),
        refusals=tuple(record["refusals"]),
    )
    pairs = frozenset((int(a), int(b)) for a, b in record["disjoint"])
    order = tuple(record["argument_order"])
    tasks, threads, scratch = record["tasks"], record["threads"], record["scratch_bytes"]
    wakes, own = record["wakes"], record["launch_bytes"]
    return StoredKernel(metadata, record["report"], tasks, threads, order, scratch, pairs, wakes, code, own)


def _argument(entry: list[Any]) -> KernelArgument:
    name, element, shape, strides, size, usage, const = entry
    return KernelArgument(name, by_name(element), tuple(shape), tuple(strides), size, Usage(usage), const)
