"""`share-functions`: what is written alike exists once, and is called from wherever it was."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tilewright.xir.interp import run
from tilewright.xir.passes.runner import run_pipeline
from tilewright.xir.passes.share_functions import ShareFunctions
from tilewright.xir.text import parse_module

BUFFER = "!xir.buffer<4 of f32, global>"
BODY = """
  %one = arith.constant 1 : i64
  %less = arith.cmpi slt, %i, %one : i64
  %zero = arith.constant 0.0 : f32
  %read = xir.load %x[%i] : BUFFER -> f32
  %chosen = "scf.if"(%less) ({
    %inner = arith.subf %read, %zero : f32
    scf.yield %inner : f32
  }, {
    scf.yield %zero : f32
  }) : (i1) -> f32
  xir.store %chosen, %x[%i] : f32, BUFFER
  xir.return
"""


def module(second: str) -> ModuleOp:
    bodies = [text.replace("BUFFER", BUFFER) for text in (BODY, second)]
    return parse_module(f"""
xir.func "f" {{
^bb0(%x: {BUFFER}, %i: i64):{bodies[0]}}}
xir.func "g" {{
^bb0(%x: {BUFFER}, %i: i64):{bodies[1]}}}
xir.kernel "k" tasks #builtin.int<4> {{
^bb0(%x: {BUFFER}, %y: {BUFFER}, %task: i64):
  xir.call "f"(%x, %task) : ({BUFFER}, i64) -> ()
  xir.call "g"(%y, %task) : ({BUFFER}, i64) -> ()
  xir.return
}}
""")


def outcome(made: ModuleOp) -> list[bytes]:
    memory = [np.arange(1, 5, dtype=np.float32), np.arange(5, 9, dtype=np.float32)]
    run(made, memory)
    return [array.tobytes() for array in memory]


def functions(made: ModuleOp) -> list[str]:
    return [op.name for op in made.body.block.ops if op.name == "xir.func"]


def test_functions_that_differ_in_their_names_alone_are_one():
    made = module(BODY)
    before = outcome(made)
    (record,) = run_pipeline(made, [ShareFunctions()])
    assert (record.changed, len(functions(made))) == (1, 1)
    assert outcome(made) == before
    assert run_pipeline(made, [ShareFunctions()])[0].changed == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("slt", "sle"),
        ("0.0 : f32", "-0.0 : f32"),
        ("subf %read, %zero", "subf %zero, %read"),
        ("subf", "addf"),
        ("  scf.yield %zero : f32", "  scf.yield %read : f32"),
        ("%one = arith.constant 1", "%one = arith.constant 2"),
    ],
)
def test_what_differs_in_anything_else_stays(old: str, new: str):
    assert old in BODY
    made = module(BODY.replace(old, new))
    before = outcome(made)
    run_pipeline(made, [ShareFunctions()])
    assert len(functions(made)) == 2
    assert outcome(made) == before
