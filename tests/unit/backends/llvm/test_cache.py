"""A file of the cache is written whole or not at all, and believed only when nobody else can have written it."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from tilewright.backends.llvm.cache import CodeCache, StoredKernel
from tilewright.core.abi import KernelArgument, KernelMetadata, Usage
from tilewright.core.dtypes import bf16, f32

KEY, OTHER = "a" * 64, "b" * 64


def kernel(code: bytes = b"\x90" * 64) -> StoredKernel:
    arguments = (
        KernelArgument("x", f32, (3, 4), (8, 1), 80, Usage.READ, const=True),
        KernelArgument("y", bf16, (), (), 2, Usage.READ_WRITE, const=False),
    )
    metadata = KernelMetadata(
        "name", (7, 1, 1), arguments, False, "text\n", MappingProxyType({"tasks": 7, "lanes": "k"}), ("blas",), ("no",)
    )
    return StoredKernel(metadata, "report", 7, 2, (1, 0), 4096, frozenset({(0, 1), (1, 2)}), False, code)


@pytest.fixture
def cache(tmp_path: Path) -> CodeCache:
    return CodeCache(tmp_path / "deep" / "cache")


def only(cache: CodeCache) -> Path:
    ((path, _, _),) = cache.files()
    return path


def test_what_is_stored_is_loaded(cache: CodeCache) -> None:
    assert cache.load(KEY) is None
    assert cache.store(KEY, kernel())
    assert cache.load(KEY) == kernel()
    assert cache.load(OTHER) is None


def test_code_may_hold_any_bytes(cache: CodeCache) -> None:
    code = bytes(range(256)) + b"\n\n12\n{}"
    cache.store(KEY, kernel(code))
    assert cache.load(KEY) == kernel(code)


def test_what_is_stored_again_takes_the_place(cache: CodeCache) -> None:
    cache.store(KEY, kernel())
    cache.store(KEY, replace(kernel(), tasks=9))
    assert cache.load(KEY) == replace(kernel(), tasks=9)
    assert len(cache.files()) == 1


def _resigned(body: bytes) -> bytes:
    return b"tilewright-code-1\n" + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut short": lambda content: content[:-1],
    "cut in the header": lambda content: content[:200],
    "only the magic line": lambda content: content.partition(b"\n")[0],
    "another magic line": lambda content: content.replace(b"code-1", b"code-2", 1),
    "a changed byte of code": lambda content: content[:-1] + bytes([content[-1] ^ 1]),
    "a changed number": lambda content: content.replace(b'"tasks": 7', b'"tasks": 8'),
    "something behind the code": lambda content: content + b"\0",
    "no record": lambda _: _resigned(b"2\n{}code"),
    "no length": lambda _: _resigned(b"x\n{}code"),
    "a record of another kind": lambda _: _resigned(b'8\n["a", 1]code'),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_removed(damage: str, cache: CodeCache) -> None:
    cache.store(KEY, kernel())
    path = only(cache)
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    assert cache.load(KEY) is None
    assert cache.files() == []


def test_the_file_of_another_key_is_removed(cache: CodeCache) -> None:
    cache.store(OTHER, kernel())
    only(cache).rename(cache.folder / f"{KEY}.twk")
    assert cache.load(KEY) is None
    assert cache.files() == []


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o777])
def test_a_file_that_others_may_write_is_not_read(mode: int, cache: CodeCache) -> None:
    cache.store(KEY, kernel())
    only(cache).chmod(mode)
    assert cache.load(KEY) is None
    assert cache.store(KEY, kernel())
    assert cache.load(KEY) == kernel()


def test_the_file_of_another_user_is_not_read(cache: CodeCache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.store(KEY, kernel())
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert cache.load(KEY) is None


def test_files_are_for_their_user_only(cache: CodeCache) -> None:
    cache.store(KEY, kernel())
    assert only(cache).stat().st_mode & 0o777 == 0o600
    assert cache.folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_cannot_be_made_is_no_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = CodeCache(tmp_path / "file" / "cache")
    assert not cache.store(KEY, kernel())
    assert cache.load(KEY) is None
    assert (cache.files(), cache.prune(), cache.clear()) == ([], 0, 0)


def test_a_failed_write_leaves_nothing(cache: CodeCache, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", refuse)
    assert not cache.store(KEY, kernel())
    assert list(cache.folder.iterdir()) == []


def _used(cache: CodeCache, key: str, seconds_ago: float) -> None:
    path = cache.folder / f"{key}.twk"
    when = path.stat().st_mtime - seconds_ago
    os.utime(path, (when, when))


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    """At stores of some keys, and when asked."""
    keys = [letter * 64 for letter in "abc0"]
    cache = CodeCache(tmp_path)
    for age, key in zip((30, 20, 10), keys, strict=False):
        cache.store(key, kernel())
        _used(cache, key, age)
    assert cache.load(keys[0]) is not None  # a use
    size = cache.files()[0][1]
    small = CodeCache(tmp_path, limit_bytes=3 * size)
    small.store(keys[3], kernel())
    assert [small.load(key) is not None for key in keys] == [True, False, True, True]
    assert CodeCache(tmp_path, limit_bytes=size).prune() == 2


def test_what_killed_writers_left_goes_after_a_while(cache: CodeCache) -> None:
    cache.store(KEY, kernel())
    fresh, old = cache.folder / "fresh.part", cache.folder / "old.part"
    for path in (fresh, old):
        path.write_bytes(b"half")
    os.utime(old, (1, 1))
    assert cache.prune() == 1
    assert (fresh.exists(), old.exists()) == (True, False)
    assert cache.load(KEY) == kernel()


def test_clear_removes_ours_and_leaves_the_rest(cache: CodeCache) -> None:
    for key in (KEY, OTHER):
        cache.store(key, kernel())
    (cache.folder / "half.part").write_bytes(b"half")
    (cache.folder / "notes.txt").write_text("mine")
    assert cache.clear() == 2
    assert [path.name for path in cache.folder.iterdir()] == ["notes.txt"]
