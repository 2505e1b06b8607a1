"""What each pass makes of a small kernel, as text; the golden file shows both."""

from pathlib import Path

import pytest

from tests.golden.golden import check_text
from tilewright.xir.passes.addressing import ReassociateAddresses
from tilewright.xir.passes.cse import EliminateCommonSubexpressions
from tilewright.xir.passes.expand_contract import ExpandContract
from tilewright.xir.passes.expand_math import ExpandMath
from tilewright.xir.passes.hoist import HoistInvariants
from tilewright.xir.passes.interleave import Interleave
from tilewright.xir.passes.runner import XirPass, run_pipeline
from tilewright.xir.passes.share_functions import ShareFunctions
from tilewright.xir.text import parse_module, print_module

HERE = Path(__file__).parent
BUFFER = "!xir.buffer<64 of f32, global>"
LOOP = f"""
xir.kernel "k" tasks #builtin.int<4> {{
^bb0(%x: {BUFFER}, %y: {BUFFER}, %task: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %seven = arith.constant 7 : i64
  %eight = arith.constant 8 : i64
  scf.for %i = %zero to %eight step %one : i64 {{
    %row = arith.muli %task, %eight : i64
    %shifted = arith.addi %i, %two : i64
    %column = arith.addi %shifted, %row : i64
    %first = xir.load %x[%column] : {BUFFER} -> f32
    %again = xir.load %x[%column] : {BUFFER} -> f32
    %sum = arith.addf %first, %again : f32
    %further = arith.addi %seven, %i : i64
    %place = arith.addi %row, %further : i64
    xir.store %sum, %y[%place] : f32, {BUFFER}
  }}
  xir.return
}}
"""
EXPONENTIAL = f"""
xir.kernel "k" tasks #builtin.int<1> {{
^bb0(%x: {BUFFER}, %task: i64):
  %value = xir.load %x[%task] : {BUFFER} -> vector<8xf32>
  %result = math.exp %value : vector<8xf32>
  xir.store %result, %x[%task] : vector<8xf32>, {BUFFER}
  xir.return
}}
"""


def _numbers(*values: int) -> str:
    return "[" + ", ".join(f"#builtin.int<{value}>" for value in values) + "]"


PRODUCT = f"""
xir.kernel "k" tasks #builtin.int<1> {{
^bb0(%a: {BUFFER}, %b: {BUFFER}, %c: {BUFFER}, %task: i64):
  %zero = arith.constant 0 : i64
  "xir.contract"(%a, %zero, %b, %zero, %c, %zero) <{{
    extents = {_numbers(3, 6, 5)}, strides = {_numbers(5, 1, 6, 1, 6, 1)}, tile = {_numbers(2, 2, 4)},
    blocking = {_numbers(0, 0, 0)}, from_zero = true,
    operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1>
  }}> ({{}}, {{}}, {{}}, {{}}, {{}}, {{}}, {{}}, {{}}) : ({BUFFER}, i64, {BUFFER}, i64, {BUFFER}, i64) -> ()
  xir.return
}}
"""
TWIN = f"""
^bb0(%x: {BUFFER}, %at: i64):
  %value = xir.load %x[%at] : {BUFFER} -> f32
  %sum = arith.addf %value, %value : f32
  xir.store %sum, %x[%at] : f32, {BUFFER}
  xir.return
}}
"""
TWINS = f"""
xir.func "f" {{{TWIN}
xir.func "g" {{{TWIN}
xir.kernel "k" tasks #builtin.int<4> {{
^bb0(%x: {BUFFER}, %task: i64):
  xir.call "f"(%x, %task) : ({BUFFER}, i64) -> ()
  xir.call "g"(%x, %task) : ({BUFFER}, i64) -> ()
  xir.return
}}
"""
STEPS = 12


def _doubled(name: str) -> str:
    """A load and a chain of sums."""
    steps = [f"%{name}{step + 1} = arith.addf %{name}{step}, %{name}{step} : vector<8xf32>" for step in range(STEPS)]
    return "\n".join([f"%{name}0 = xir.load %{name}[%task] : {BUFFER} -> vector<8xf32>", *steps])


ABREAST = f"""
xir.kernel "k" tasks #builtin.int<1> {{
^bb0(%x: {BUFFER}, %y: {BUFFER}, %task: i64):
  {_doubled("x")}
  {_doubled("y")}
  xir.store %x{STEPS}, %x[%task] : vector<8xf32>, {BUFFER}
  xir.store %y{STEPS}, %y[%task] : vector<8xf32>, {BUFFER}
  xir.return
}}
"""
CASES: dict[str, tuple[XirPass, str]] = {
    "expand-contract": (ExpandContract(), PRODUCT),
    "share-functions": (ShareFunctions(), TWINS),
    "expand-math": (ExpandMath(), EXPONENTIAL),
    "reassociate-addresses": (ReassociateAddresses(), LOOP),
    "hoist": (HoistInvariants(), LOOP),
    "cse": (EliminateCommonSubexpressions(), LOOP),
    "interleave": (Interleave(), ABREAST),
}


@pytest.mark.parametrize("name", CASES)
def test_before_and_after(name: str, golden_accept: bool):
    step, source = CASES[name]
    module = parse_module(source)
    before = print_module(module)
    run_pipeline(module, [step])
    check_text(HERE / f"{name}.xir", f"{before}\n// after {step.name}\n\n{print_module(module)}", accept=golden_accept)
