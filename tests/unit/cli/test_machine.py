"""The command that shows what plans know of this machine."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tilewright.backends.llvm.cache import CodeCache
from tilewright.backends.llvm.machine import read_machine
from tilewright.backends.llvm.timings import kept_timings, timings_path
from tilewright.cli import machine as command
from tilewright.cli.main import app


def output(*arguments: str) -> list[str]:
    result = CliRunner().invoke(app, ["machine", *arguments])
    assert result.exit_code == 0
    return result.output.splitlines()


def test_it_shows_the_figures_and_measures_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "code_cache", lambda: CodeCache(tmp_path))
    found = read_machine()
    path = timings_path(found, tmp_path)
    path.write_text("{}")
    lines = output()
    assert lines[0] == f"machine  {found.name}, {found.cores} cores"
    assert lines[1].startswith(f"caches   L1 {found.l1_bytes // 1024} KiB, L2 ")
    assert lines[2:] == [f"figures  {kept_timings(found, tmp_path)}", f"file     {path}"]
    path.write_text(path.read_text().replace('"wake": 10000.0', '"wake": 1.0'))
    assert "waking 1, " in output()[2]
    assert "waking 10000, " in output("--again")[2]
