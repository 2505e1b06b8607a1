"""Hands `--golden-accept` to the harness."""

from collections.abc import Generator

import pytest

from tests.errors.harness import accepting


@pytest.fixture(autouse=True)
def _accept_goldens(golden_accept: bool) -> Generator[None]:
    token = accepting.set(golden_accept)
    yield
    accepting.reset(token)
