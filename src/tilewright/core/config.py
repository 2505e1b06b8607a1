"""Settings of the process. The only reader of the environment, so that no other file can depend on it unseen."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .codes.toolchain import BAD_SETTING
from .errors import ToolchainError
from .source import UNKNOWN

__all__ = ["Config", "config", "offer"]


@dataclass(frozen=True, slots=True)
class Config:
    """What the environment asks for.

    num_threads: workers of the CPU pool, the caller included (TILEWRIGHT_NUM_THREADS; default: usable cores).
    cache_dir:   folder of compiled code (TILEWRIGHT_CACHE_DIR; None: the platform's cache folder).
    dump_dir:    folder for the text of every stage (TILEWRIGHT_DUMP_DIR; None: write nothing).
    """

    num_threads: int
    cache_dir: Path | None = None
    dump_dir: Path | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Config":
        """Reads the variables above; an empty one counts as unset. Raises ToolchainError (TW501) for nonsense."""
        return cls(
            num_threads=_count(environment, "TILEWRIGHT_NUM_THREADS", _usable_cores()),
            cache_dir=_folder(environment, "TILEWRIGHT_CACHE_DIR"),
            dump_dir=_folder(environment, "TILEWRIGHT_DUMP_DIR"),
        )


@cache
def config() -> Config:
    """The settings of this process, read at the first call."""
    return Config.from_environment(os.environ)


def offer(name: str, value: str) -> None:
    """A setting for a library that reads the environment itself, before it is loaded. What the user set stays."""
    os.environ.setdefault(name, value)


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _count(environment: Mapping[str, str], name: str, default: int) -> int:
    text = environment.get(name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise ToolchainError(BAD_SETTING.at(UNKNOWN, name=name, value=text, wanted="a whole number above 0"))
    return int(text)


def _folder(environment: Mapping[str, str], name: str) -> Path | None:
    text = environment.get(name, "")
    return Path(text).expanduser() if text else None
