"""The command that shows and empties the cache of compiled kernels."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.unit.backends.llvm.test_cache import KEY, OTHER, kernel
from tilewright.backends.llvm.cache import CodeCache
from tilewright.cli import cache as command
from tilewright.cli.main import app


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CodeCache:
    found = CodeCache(tmp_path)
    for key in (KEY, OTHER):
        found.store(key, kernel())
    monkeypatch.setattr(command, "code_cache", lambda: CodeCache(tmp_path, limit_bytes=found.files()[0][1]))
    return found


def output(*arguments: str) -> list[str]:
    result = CliRunner().invoke(app, ["cache", *arguments])
    assert result.exit_code == 0
    return result.output.splitlines()


def test_it_shows_where_and_how_much(stored: CodeCache) -> None:
    size = sum(size for _, size, _ in stored.files())
    assert output() == [f"folder   {stored.folder}", "kernels  2", f"bytes    {size} of at most {size // 2}"]


@pytest.mark.parametrize(("action", "gone", "left"), [("prune", 1, 1), ("clear", 2, 0)])
def test_it_removes(action: str, gone: int, left: int, stored: CodeCache) -> None:
    lines = output(action)
    assert (lines[0], lines[2]) == (f"removed  {gone}", f"kernels  {left}")
    assert len(stored.files()) == left


def test_another_word_is_a_mistake() -> None:
    assert CliRunner().invoke(app, ["cache", "empty"]).exit_code == 2
