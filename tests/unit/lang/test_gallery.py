"""The kernels that everyone shares: each captures, verifies, round-trips, and its text is what we meant."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from examples.gallery import attention, elementwise, gemm, rows
from tilewright.ir.hash import structural_hash
from tilewright.ir.kernel import Kernel
from tilewright.ir.text import parse_module, print_module
from tilewright.ir.verify import verify
from tilewright.tile import tensor_shape

GOLDEN = Path(__file__).parents[2] / "golden" / "lang"

M, K, N = 100, 70, 90
GALLERY: dict[str, tuple[Any, list[Any], dict[str, Any]]] = {
    "gemm": (gemm.gemm, [tensor_shape(M, K), tensor_shape(K, N), tensor_shape(M, N)], {}),
    "gemm_at": (gemm.gemm_at, [tensor_shape(K, M), tensor_shape(K, N), tensor_shape(M, N)], {}),
    "gemm_bt": (gemm.gemm_bt, [tensor_shape(M, K), tensor_shape(N, K), tensor_shape(M, N)], {}),
    "gemm_atbt": (gemm.gemm_atbt, [tensor_shape(K, M), tensor_shape(N, K), tensor_shape(M, N)], {}),
    "add": (elementwise.add, [tensor_shape(M, N)] * 3, {}),
    "bias_gelu_residual": (
        elementwise.bias_gelu_residual,
        [tensor_shape(M, N), tensor_shape(N), tensor_shape(M, N), tensor_shape(M, N)],
        {},
    ),
    "bias_gelu_residual_erf": (
        elementwise.bias_gelu_residual,
        [tensor_shape(M, N), tensor_shape(N), tensor_shape(M, N), tensor_shape(M, N)],
        {"approximate": "erf"},
    ),
    "swiglu": (elementwise.swiglu, [tensor_shape(M, N)] * 3, {}),
    "softmax": (rows.softmax, [tensor_shape(M, N)] * 2, {}),
    "masked_softmax": (rows.masked_softmax, [tensor_shape(M, N)] * 3, {}),
    "layer_norm": (rows.layer_norm, [tensor_shape(M, N), tensor_shape(N), tensor_shape(N), tensor_shape(M, N)], {}),
    "rms_norm": (rows.rms_norm, [tensor_shape(M, N), tensor_shape(N), tensor_shape(M, N)], {}),
    "row_sum": (rows.row_sum, [tensor_shape(M, N), tensor_shape(M)], {}),
    "row_sum_region": (rows.row_sum_region, [tensor_shape(M, N), tensor_shape(M)], {}),
    "attention": (
        attention.attention,
        [tensor_shape(2, 64, 16), tensor_shape(2, 96, 16), tensor_shape(2, 96, 8), tensor_shape(2, 64, 8)],
        {},
    ),
    "causal_attention": (attention.attention, [tensor_shape(2, 64, 16)] * 4, {"causal": True}),
}


def captured(name: str) -> Kernel:
    definition, shapes, config = GALLERY[name]
    return definition.capture(*shapes, **config)


@pytest.mark.parametrize("name", GALLERY)
def test_the_text_of_a_gallery_kernel(name: str, golden_accept: bool) -> None:
    text = captured(name).text(short=True)
    golden = GOLDEN / f"{name}.txt"
    if golden_accept:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("locations", [False, True])
@pytest.mark.parametrize("name", GALLERY)
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
from tests.unit.lang.test_gallery import GALLERY, captured
print(*(captured(name).hash for name in GALLERY))
"""


@pytest.mark.parametrize("seed", ["0", "1"])
def test_every_process_gives_a_gallery_kernel_the_same_hash(seed: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", PROGRAM]
    root = Path(__file__).parents[3]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [captured(name).hash for name in GALLERY]


def test_gallery_kernels_are_different_programs() -> None:
    hashes = [captured(name).hash for name in GALLERY]
    assert len(set(hashes)) == len(hashes)
