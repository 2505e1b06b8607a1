from pathlib import Path

import pytest

from tilewright.core.config import Config, config
from tilewright.core.errors import ToolchainError


def test_an_empty_environment_gives_defaults() -> None:
    found = Config.from_environment({})
    assert found.num_threads >= 1
    assert (found.cache_dir, found.dump_dir) == (None, None)
    assert Config.from_environment({"TILEWRIGHT_NUM_THREADS": "", "TILEWRIGHT_DUMP_DIR": ""}) == found


def test_variables_are_read() -> None:
    variables = {"TILEWRIGHT_NUM_THREADS": " 64 ", "TILEWRIGHT_CACHE_DIR": "/c", "TILEWRIGHT_DUMP_DIR": "/d"}
    assert Config.from_environment(variables) == Config(64, Path("/c"), Path("/d"))


def test_a_home_folder_is_found() -> None:
    assert Config.from_environment({"TILEWRIGHT_CACHE_DIR": "~/c"}).cache_dir == Path.home() / "c"


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "many", "٣", "1e3"])
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(ToolchainError, match="TILEWRIGHT_NUM_THREADS"):
        Config.from_environment({"TILEWRIGHT_NUM_THREADS": text})


def test_the_process_reads_its_environment_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = config()
    monkeypatch.setenv("TILEWRIGHT_NUM_THREADS", "77")
    assert config() is first
