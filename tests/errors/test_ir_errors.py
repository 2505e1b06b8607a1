"""Golden texts of what the verifier, the text and the pass runner say."""

from pathlib import Path

import pytest

from tests.errors.harness import check_case

VERIFY = """
from tests.unit.ir.broken import broken_module
from tests.unit.ir.test_verify import TARGET
from tilewright.ir.verify import verify_or_raise

verify_or_raise(broken_module({rule!r}), TARGET)
"""


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("TW280", "V-EW-3"),
        ("TW281", "V-MEM-2"),
        ("TW284", "V-MEM-5"),
        ("TW350", "V-PAR-1"),
        ("TW351", "V-VIEW-10"),
        ("TW352", "V-PURE-1"),
        ("TW353", "V-FLOW-3"),
        ("TW354", "V-SCOPE-2"),
        ("TW355", "V-RES-2"),
        ("TW356", "V-STAGE-2"),
        ("TW357", "V-PIPE-2"),
        ("TW921", "V-DOM-2"),
    ],
)
def test_verifier(code: str, rule: str, tmp_path: Path):
    check_case(code, VERIFY.format(rule=rule), tmp_path)


def test_kernel_form(tmp_path: Path):
    source = """
from tests.unit.ir.broken import broken_module
from tilewright.core.errors import EffectError
from tilewright.ir.verify import kernel_form

raise EffectError(*kernel_form(broken_module("V-FORM-1"))[:1])
"""
    check_case("TW358", source, tmp_path)


def test_text(tmp_path: Path):
    source = """
from tilewright.ir.text import parse_module

parse_module("builtin.module {\\n  %0 = tile.neg %1 : i65.5 -> i64\\n}", "sample.tile")
"""
    check_case("TW920", source, tmp_path)


def test_pass(tmp_path: Path):
    source = """
from tests.unit.ir.test_rewrite import BreakTypes, negated
from tilewright.ir.rewrite import run_pipeline

m, _ = negated()
run_pipeline(m.done(), [BreakTypes()])
"""
    check_case("TW922", source, tmp_path)
