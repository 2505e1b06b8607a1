"""TW5xx: what makes machine code failed."""

from ..diagnostics import Code

BAD_SETTING = Code(
    501,
    "the environment variable {name} is {value!r}, which is not {wanted}",
    why="settings are read once, before the first compilation, and are never guessed",
    help="set {name} to {wanted}, or unset it",
)
LLVM_REJECTED = Code(
    510,
    "LLVM refused the module {name}: {reason}",
    why="the text given to LLVM was not valid for this version and target",
    help="this is a bug in tilewright: please report it with the text kept in {artifact}",
)
LLVM_NOT_LINKED = Code(
    511,
    "the machine code of {name} could not be loaded: {reason}",
    why="an object is linked only if it is intact and every symbol it names has an address",
    help="clear the cache folder and compile again; if it fails again, report it with the file kept in {artifact}",
)
LLVM_NO_TARGET = Code(
    512,
    "LLVM cannot make code for the target {triple} with cpu {cpu!r}: {reason}",
    why="code is made for one named target, and an unknown one is never replaced by a similar one",
    help="use a triple and cpu that the installed llvmlite knows",
)
LLVM_MISSING = Code(
    513,
    "llvmlite cannot be loaded: {reason}",
    why="llvmlite brings the LLVM that makes the machine code",
    help="reinstall it in this environment: pip install --force-reinstall llvmlite",
)
TVM_REJECTED = Code(
    520,
    "TVM refused the module of {name}: {reason}",
    why="the nodes given to TVM were not valid for its passes or its code generator",
    help="this is a bug in tilewright: please report it with this text",
)
