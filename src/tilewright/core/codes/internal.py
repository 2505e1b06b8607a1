"""TW9xx: our own bugs."""

from ..diagnostics import Code

WRONG_FAMILY = Code(
    901,
    "{exception} was raised with the code {code} of another family",
    why="the hundred of a code decides which exception carries it, so that callers can catch by family",
    help="this is a bug in tilewright: please report it with this text",
)
NOT_DIGESTIBLE = Code(
    902,
    "a value of type {type} cannot be part of a digest",
    why="a digest is stable across processes, so every type needs a written encoding",
    help="this is a bug in tilewright: please report it with this text",
)
FOREIGN_HANDLE = Code(
    903,
    "the native device was given bytes {begin}:{end} of handle {handle}, which {reason}",
    why="the validation layer checks every access below the buffers, shaders and commands",
    help="this is a bug in tilewright: please report it with this text",
)
LLVM_TEXT_MISUSE = Code(
    910,
    "the LLVM text builder was asked for something ill-formed: {what}",
    why="operands are checked while the text is written, so that the fault shows where it is made",
    help="this is a bug in tilewright: please report it with this text",
)
UNPARSABLE_TEXT = Code(
    920,
    "the TileIR text {name} does not parse: {what}",
    why="TileIR text follows the grammar of docs/reference/tileir.md; print_module never writes anything else",
    help="print the module again with print_module, or correct the text at this place",
)
MALFORMED_IR = Code(
    921,
    "malformed TileIR: {what}",
    why="no kernel written in Python produces this; a hand-made module or a broken pass does",
    help="if the module came from a kernel, this is a bug in tilewright: please report it with this text",
)
BROKEN_PASS = Code(
    922,
    "the pass {name} left a module that {what}",
    why="every pass takes a verified module and must leave one, with a place on every operation",
    help="this is a bug in tilewright: please report it with the reproducer",
)
XIR_MISUSE = Code(
    940,
    "XIR was built wrongly: {what}",
    why="loops and branches end with the values they carry, once",
    help="this is a bug in tilewright: please report it with this text",
)
UNPARSABLE_XIR = Code(
    941,
    "the XIR text {name} does not parse: {what}",
    why="XIR text follows xDSL's grammar with the operations of xir/ops.py; print_module writes nothing else",
    help="print the module again with print_module, or correct the text at this place",
)
MALFORMED_XIR = Code(
    942,
    "malformed XIR, rule {rule}: {what}",
    why="no kernel written in Python produces this; a bridge or a pass with a fault does",
    help="if the module came from a kernel, this is a bug in tilewright: please report it with this text",
)
XIR_PASS_FAULT = Code(
    943,
    "the pass {name} left a module that {what}",
    why="every pass takes a verified module and must leave one, with the places of its operations",
    help="this is a bug in tilewright: please report it with this text",
)
XIR_BAD_ACCESS = Code(
    944,
    "the XIR interpreter stopped: {what}",
    why="guards and masks keep every access inside its buffer and every divisor away from zero",
    help="this is a bug in tilewright: please report it with this text",
)
XIR_NOT_EXPANDED = Code(
    945,
    "the XIR interpreter has no rule for {op}",
    why="it runs what the passes leave, so that it computes bit for bit what machine code does",
    help="run the pipeline of xir/passes/pipelines.py first",
)

PLAN_BROKEN = Code(
    947,
    "the plan and the kernel disagree: {what}",
    why="lowering obeys the plan and checks what it reads from it again",
    help="this is a bug in tilewright: please report it with this text",
)
