"""What a figure depends on and does not say: processor, system, versions, settings, load."""

import os
import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from subprocess import DEVNULL, PIPE, SubprocessError, run

from benchmarks.session import ROOT, Session, WorkerError, load, settings
from tilewright.backends.llvm.machine import host_machine
from tilewright.core.machine import Machine

__all__ = ["commit", "described", "machine_name"]

CPU, GOVERNOR = Path("/proc/cpuinfo"), Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
PACKAGES = (
    "tilewright",
    "llvmlite",
    "xdsl",
    "numpy",
    "ml-dtypes",
    "torch",
    "jax",
    "jaxlib",
    "numba",
    "apache-tvm",
    "scipy-openblas32",
)


def machine_name() -> str:
    """As files are called: LLVM's name of the processor, and the cores that we may use."""
    machine = host_machine()
    return f"{machine.cpu}-{machine.cores}-cores"


def described(threads: Sequence[int], peers: Sequence[str], session: Session) -> dict[str, str]:
    """Everything by name, as text."""
    machine = host_machine()
    return {
        "machine": machine_name(),
        "processor": _processor(),
        "vectors": f"{machine.vector_bits} bits",
        "caches": _caches(machine),
        "cores": str(machine.cores),
        "governor": _first_line(GOVERNOR),
        "huge pages": _first_line(HUGE_PAGES),
        "system": f"{platform.system()} {platform.release()}",
        "python": sys.version.split()[0],
        **{name: _version(name) for name in PACKAGES},
        **_libraries(peers, session),
        "settings": "; ".join(_setting(count) for count in threads),
        "load before": f"{load():.2f}",
        "commit": commit(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def commit() -> str:
    """Of the checkout; a `+` behind it says that it has changes."""
    name = _git("rev-parse", "--short=12", "HEAD")
    return f"{name}+" if _git("status", "--porcelain", "--untracked-files=no") else name


def _git(*words: str) -> str:
    try:
        return run(["git", *words], stdout=PIPE, stderr=DEVNULL, text=True, cwd=ROOT, check=True).stdout.strip()
    except (OSError, SubprocessError):
        return ""


def _processor() -> str:
    if not CPU.exists():
        return platform.processor() or platform.machine()
    fields = dict(_pair(line) for line in CPU.read_text().splitlines() if ":" in line)
    return f"{fields.get('model name', '?')}, family {fields.get('cpu family', '?')}, model {fields.get('model', '?')}"


def _pair(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip(), value.strip()


def _caches(machine: Machine) -> str:
    sizes = {"L1d": machine.l1_bytes, "L2": machine.l2_bytes, "L3": machine.l3_bytes}
    return ", ".join(f"{name} {size >> 10} KiB" for name, size in sizes.items())


def _first_line(path: Path) -> str:
    try:
        return path.read_text().strip().splitlines()[0]
    except (OSError, IndexError):
        return "not shown by this system"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "from the checkout" if package == "tilewright" else "absent"


def _libraries(peers: Sequence[str], session: Session) -> dict[str, str]:
    """What each peer says of itself in the process where it is measured."""
    try:
        told = session.worker("together", 1).ask("about", names=list(peers))["about"]
    except WorkerError as error:
        return {"peers": str(error)}
    return {f"peer {name}": each.get("about", f"absent: {each.get('absent')}") for name, each in told.items()}


def _setting(threads: int) -> str:
    pairs = ", ".join(f"{name}={value}" for name, value in settings(threads).items())
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    return f"{pairs}, on {min(threads, usable)} cores" if usable else pairs
