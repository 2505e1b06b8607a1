"""The text of TileIR is what we meant, and all of its forms are there."""

from collections.abc import Callable
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.golden.golden import check_text
from tests.golden.kernels import every_kind, gemm
from tilewright.ir.dialect import ELEMENTWISE_OPS, TILE_OPS
from tilewright.ir.kernel import Kernel
from tilewright.ir.text import parse_module, print_module
from tilewright.ir.verify import verify

HERE = Path(__file__).parent
CASES = {"gemm": gemm, "every_kind": every_kind}


@pytest.mark.parametrize("name", CASES)
def test_module_text(name: str, golden_accept: bool):
    module = CASES[name]()
    assert not verify(module)
    check_text(HERE / f"{name}.tile", print_module(module), accept=golden_accept)


@pytest.mark.parametrize("name", CASES)
def test_golden_text_parses_to_the_module(name: str):
    parsed = parse_module((HERE / f"{name}.tile").read_text())
    assert parsed.is_structurally_equivalent(CASES[name]())


@pytest.mark.parametrize("name", CASES)
def test_listing(name: str, golden_accept: bool):
    kernel = Kernel(CASES[name](), "k")
    check_text(HERE / f"{name}.txt", kernel.text(short=True), accept=golden_accept)


def test_text_with_locations(golden_accept: bool):
    check_text(HERE / "gemm_locations.tile", print_module(gemm(), locations=True), accept=golden_accept)


def test_the_golden_kernels_show_every_operation_that_is_not_elementwise():
    builders: tuple[Callable[[], ModuleOp], ...] = (gemm, every_kind)
    shown = {type(op) for build in builders for op in build().walk()}
    assert set(TILE_OPS) - set(ELEMENTWISE_OPS) <= shown
