"""What every test shares: its own code cache, random examples that repeat, and a count of what was skipped."""

import os
import shutil
import tempfile

import hypothesis
import pytest

# Timing is never asserted, so no deadline. The fast profile repeats its examples: a red run is red for everyone.
hypothesis.settings.register_profile("fast", deadline=None, derandomize=True)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=1000, print_blob=True)
hypothesis.settings.load_profile("fast")

_CACHE = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden-accept", action="store_true", help="rewrite golden texts instead of comparing them")


def pytest_configure(config: pytest.Config) -> None:
    """Compiled code of a test run never meets the cache of the person who runs it."""
    config.stash[_CACHE] = os.environ["TILEWRIGHT_CACHE_DIR"] = tempfile.mkdtemp(prefix="tilewright-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(config.stash[_CACHE], ignore_errors=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the count even when it is 0: nothing is skipped without being seen."""
    terminalreporter.write_line(f"skipped: {len(terminalreporter.getreports('skipped'))}")


@pytest.fixture(scope="session")
def golden_accept(request: pytest.FixtureRequest) -> bool:
    """Whether this run rewrites golden texts (`make golden-accept`)."""
    return bool(request.config.getoption("--golden-accept"))
