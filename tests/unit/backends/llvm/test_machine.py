from pathlib import Path

import pytest

from tilewright.backends.llvm.machine import cache_sizes, host_machine, sysfs_caches, usable_cores, vector_unit
from tilewright.core.machine import GENERIC_AVX2, GENERIC_AVX512, GENERIC_NEON, Machine

KIB = 1024


def test_the_host_is_read_once_and_makes_sense() -> None:
    machine = host_machine()
    assert machine is host_machine()
    assert machine.vector_bits in (128, 256, 512)
    assert machine.vector_registers in (16, 32)
    assert 0 < machine.l1_bytes <= machine.l2_bytes
    assert machine.cores >= 1
    assert (machine.l1_bytes, machine.l2_bytes, machine.l3_bytes) == cache_sizes()


@pytest.mark.parametrize(
    ("architecture", "features", "unit"),
    [
        ("x86_64", {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx2", "fma"}, (512, 32, True)),
        ("x86_64", {"avx512f", "avx2", "fma"}, (256, 16, True)),
        ("x86_64", {"avx2"}, (128, 16, False)),
        ("x86_64", set[str](), (128, 16, False)),
        ("aarch64", {"neon", "sve"}, (128, 32, False)),
    ],
)
def test_vector_units_follow_the_features(architecture: str, features: set[str], unit: tuple[int, int, bool]) -> None:
    assert vector_unit(architecture, frozenset(features)) == unit


def test_caches_are_read_from_sysfs_and_instruction_caches_are_not_data(tmp_path: Path) -> None:
    caches = [("Data", "1", "48K"), ("Instruction", "1", "32K"), ("Unified", "2", "2048K"), ("Unified", "3", "30M")]
    for number, facts in enumerate(caches):
        (folder := tmp_path / f"index{number}").mkdir()
        for name, content in zip(("type", "level", "size"), facts, strict=True):
            (folder / name).write_text(content + "\n")
    (tmp_path / "index9").mkdir()
    assert sysfs_caches(tmp_path) == {1: 48 * KIB, 2: 2048 * KIB, 3: 30 * KIB * KIB}
    assert sysfs_caches(tmp_path / "nowhere") == {}


@pytest.mark.parametrize(
    ("content", "most"), [("max 100000\n", None), ("100000 100000\n", 1), ("50000 100000", 1), ("", None)]
)
def test_a_containers_quota_limits_the_cores(tmp_path: Path, content: str, most: int | None) -> None:
    unlimited = usable_cores(tmp_path / "absent")
    (tmp_path / "cpu.max").write_text(content)
    assert usable_cores(tmp_path / "cpu.max") == (most or unlimited)


@pytest.mark.parametrize(("machine", "lanes"), [(GENERIC_AVX512, 16), (GENERIC_AVX2, 8), (GENERIC_NEON, 4)])
def test_presets_need_no_hardware(machine: Machine, lanes: int) -> None:
    assert machine.lanes(32) == lanes
    assert machine.lanes(64) == lanes // 2
    assert hash(machine) == hash(machine)
