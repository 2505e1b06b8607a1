"""The kernels that everyone shares: each captures, verifies, round-trips, and its text is what we meant."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from examples.gallery import ENTRIES
from tilewright.ir.hash import structural_hash
from tilewright.ir.kernel import Kernel
from tilewright.ir.text import parse_module, print_module
from tilewright.ir.verify import verify

GOLDEN = Path(__file__).parent
LOCATED = ("gemm", "gemm_memory", "causal_attention", "row_folds", "sort_rows", "conv", "nested")


def captured(name: str) -> Kernel:
    return ENTRIES[name].capture()


@pytest.mark.parametrize("name", ENTRIES)
def test_the_text_of_a_gallery_kernel(name: str, golden_accept: bool) -> None:
    text = captured(name).text(short=True)
    golden = GOLDEN / f"{name}.txt"
    if golden_accept:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "locations"), [*((name, False) for name in ENTRIES), *((name, True) for name in LOCATED)]
)
def test_parsing_the_text_of_a_gallery_kernel_gives_it_back(name: str, locations: bool) -> None:
    kernel = captured(name)
    text = print_module(kernel.module, locations=locations)
    again = parse_module(text)
    assert kernel.module.is_structurally_equivalent(again)
    assert print_module(again, locations=locations) == text
    assert structural_hash(again) == kernel.hash
    assert verify(again) == ()
    if locations:
        assert [op.location for op in again.walk()] == [op.location for op in kernel.module.walk()]


PROGRAM = """
from tests.golden.lang.test_gallery import ENTRIES, captured
print(*(captured(name).hash for name in ENTRIES))
"""


@pytest.mark.parametrize("seed", ["0", "1"])
def test_every_process_gives_a_gallery_kernel_the_same_hash(seed: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", PROGRAM]
    root = Path(__file__).parents[3]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [captured(name).hash for name in ENTRIES]


def test_gallery_kernels_are_different_programs() -> None:
    hashes = [captured(name).hash for name in ENTRIES]
    assert len(set(hashes)) == len(hashes)
