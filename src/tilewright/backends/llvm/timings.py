"""What the steps of this machine take: measured once, kept in a file beside the compiled code.

The file is found by everything that the figures depend on: processor, features, caches, LLVM and the loops themselves.
The first process that writes it decides for all: what another one measured at the same time is forgotten, so that all
make the same plans. Where nothing can be kept nothing is measured, since the next process would measure something else.
"""

import json
import os
import tempfile
from dataclasses import asdict, replace
from math import isfinite
from pathlib import Path
from typing import Any, cast

from tilewright.backends.llvm import probe_code, probes
from tilewright.backends.llvm.cache import PART, code_cache, trusted
from tilewright.backends.llvm.target import toolchain_version
from tilewright.core.digest import digest
from tilewright.core.errors import TilewrightError
from tilewright.core.machine import Machine, Timings

__all__ = ["kept_timings", "timings_path"]

_FIGURES = (
    "arithmetic", "division", "expensive", "gathered_lane", "task", "wake", "latency", "broadcast", "apart"
)  # fmt: skip


def kept_timings(machine: Machine, folder: Path | None = None) -> Timings:
    """The figures of this machine: from the file, or measured now and written there. `machine` brings typical ones,
    which stay where that fails; `source` says why.
    """
    path = timings_path(machine, folder or code_cache().folder)
    found = _read(path)
    if found is not None:
        return found
    typical = machine.timings
    try:
        handle, part = _writable(path)
    except OSError as error:
        return _because(typical, "the cache folder cannot be written", error)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(asdict(probes.measured(machine)), file, sort_keys=True)
        os.link(part, path)
    except FileExistsError:
        pass  # another process was faster
    except (OSError, TilewrightError) as error:
        return _because(typical, "they could not be measured and kept", error)
    finally:
        os.unlink(part)
    return _read(path) or _because(typical, "the file of measured ones cannot be read", None)


def timings_path(machine: Machine, folder: Path) -> Path:
    """The file of a machine's figures."""
    loops = [Path(file).read_bytes() for file in (probe_code.__file__, probes.__file__)]
    caches = machine.l1_bytes, machine.l2_bytes, machine.l3_bytes
    key = digest(machine.cpu, machine.features_digest, machine.vector_bits, caches, toolchain_version(), loops)
    return folder / f"{key}.timings"


def _because(typical: Timings, why: str, error: Exception | None) -> Timings:
    return replace(typical, source=f"{typical.source}: {why}{'' if error is None else f' ({type(error).__name__})'}")


def _writable(path: Path) -> tuple[int, str]:
    """A new file beside `path`. One that cannot be understood goes, to be made again."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    return tempfile.mkstemp(dir=path.parent, suffix=PART)


def _read(path: Path) -> Timings | None:
    """What a trusted file says; None where it says nothing sensible."""
    content = trusted(path)
    try:
        record = cast("dict[str, Any]", json.loads(content or b""))
        levels = cast("list[float]", record["levels"])
        numbers = [float(each) for each in (*levels, *(record[name] for name in _FIGURES))]
    except (ValueError, TypeError, LookupError):  # absent, cut short, or something else
        return None
    if len(levels) != 4 or not all(isfinite(number) and number > 0 for number in numbers):
        return None
    first, second, third, last = numbers[:4]
    figures = dict(zip(_FIGURES, numbers[4:], strict=True))
    return Timings(levels=(first, second, third, last), source="measured once on this machine", **figures)
