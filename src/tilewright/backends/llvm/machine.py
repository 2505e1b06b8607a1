"""The machine the process runs on: read where that is possible, measured once where not. What is neither gets the
figures of a typical core, so plans stay good.
"""

import ctypes
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from tilewright.backends.llvm.target import host
from tilewright.backends.llvm.timings import kept_timings
from tilewright.core.digest import digest
from tilewright.core.machine import GENERIC_AVX2, GENERIC_AVX512, GENERIC_NEON, Machine

_CPU_ROOT = Path("/sys/devices/system/cpu")
_CGROUP_LIMIT = Path("/sys/fs/cgroup/cpu.max")
_TYPICAL = {each.vector_bits: each.timings for each in (GENERIC_NEON, GENERIC_AVX2, GENERIC_AVX512)}
_UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3}

# Full-width fused multiply-adds a cycle where it is not 2: Zen 4 splits 512-bit ones in two halves.
_FMA_PIPES = {"znver4": 1, "neoverse-v1": 4, "neoverse-v2": 4, **{f"apple-m{n}": 4 for n in range(1, 6)}}


@cache
def host_machine() -> Machine:
    """The machine of this process. The first process that asks measures what its steps take: a quarter of a second."""
    machine = read_machine()
    return replace(machine, timings=kept_timings(machine))


def read_machine() -> Machine:
    """What can be read of this machine, with typical figures for what its steps take."""
    target = host()
    features = _enabled(target.features)
    l1, l2, l3 = cache_sizes()
    bits, registers, masks = vector_unit(target.architecture, features)
    return Machine(
        name=f"{target.cpu} ({bits}-bit vectors)",
        cpu=target.cpu,
        features_digest=digest(target.features)[:16],
        vector_bits=bits,
        vector_registers=registers,
        has_masks=masks,
        fma_pipes=_FMA_PIPES.get(target.cpu, 2),
        l1_bytes=l1,
        l2_bytes=l2,
        l3_bytes=l3,
        cores=usable_cores(),
        timings=_TYPICAL[bits],
    )


def _enabled(features: str) -> frozenset[str]:
    return frozenset(feature[1:] for feature in features.split(",") if feature.startswith("+"))


def vector_unit(architecture: str, features: frozenset[str]) -> tuple[int, int, bool]:
    """Width in bits, number of registers, and whether masked access is cheap.

    256-bit vectors want AVX2 and FMA together. Baseline x86-64 and NEON have no masked access: LLVM branches per lane.
    """
    if architecture == "aarch64":
        return 128, 32, False
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= features:
        return 512, 32, True
    if {"avx2", "fma"} <= features:
        return 256, 16, True
    return 128, 16, False


def usable_cores(limit: Path = _CGROUP_LIMIT) -> int:
    """Cores in the affinity mask, fewer where a container's quota is smaller."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = limit.read_text().split()
        return max(1, min(cores, math.ceil(int(quota) / int(period))))
    except (OSError, ValueError):  # no such file, or `max`: no limit
        return cores


def cache_sizes() -> tuple[int, int, int]:
    """Bytes of the data caches at levels 1 to 3; typical figures where the system does not say."""
    found = _sysctl_caches() if sys.platform == "darwin" else sysfs_caches(_CPU_ROOT / "cpu0" / "cache")
    typical = GENERIC_NEON if host().architecture == "aarch64" else GENERIC_AVX2
    if not found:
        return typical.l1_bytes, typical.l2_bytes, typical.l3_bytes
    return found.get(1) or typical.l1_bytes, found.get(2) or typical.l2_bytes, found.get(3, 0)


def sysfs_caches(folder: Path) -> Mapping[int, int]:
    """Bytes by level from Linux's description of one core; empty where there is none."""
    found: dict[int, int] = {}
    for index in sorted(folder.glob("index*")):
        try:
            kind = (index / "type").read_text().strip()
            level = int((index / "level").read_text())
            size = (index / "size").read_text().strip()
            if kind != "Instruction":
                found[level] = int(size[:-1]) * _UNITS[size[-1]] if size[-1] in _UNITS else int(size)
        except (OSError, ValueError, IndexError):  # a virtual machine that describes its caches in part
            continue
    return found


def _sysctl_caches() -> Mapping[int, int]:
    """Bytes by level from macOS; the performance cores' where there are two kinds."""
    names = {1: "hw.perflevel0.l1dcachesize", 2: "hw.perflevel0.l2cachesize", 3: "hw.l3cachesize"}
    return {level: size for level, name in names.items() if (size := _sysctl(name))}


def _sysctl(name: str) -> int:
    value, size = ctypes.c_int64(0), ctypes.c_size_t(8)
    failed = ctypes.CDLL(None).sysctlbyname(name.encode(), ctypes.byref(value), ctypes.byref(size), None, 0)
    return 0 if failed else value.value
