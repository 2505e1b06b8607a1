"""The command that explains a code."""

import pytest
from typer.testing import CliRunner

from tilewright.cli.main import app
from tilewright.core.codes import ALL


@pytest.mark.parametrize("spelling", ["TW203", "tw203", "203"])
def test_a_code_is_found_as_people_write_it(spelling: str) -> None:
    result = CliRunner().invoke(app, ["explain", spelling])
    assert result.exit_code == 0
    words = " ".join(result.output.split())
    assert all(" ".join(text.split()) in words for text in (ALL["TW203"].why, ALL["TW203"].help, "TW2xx"))


def test_an_unknown_code_is_a_mistake() -> None:
    result = CliRunner().invoke(app, ["explain", "TW999"])
    assert result.exit_code == 2
    assert "TW999" in result.output
