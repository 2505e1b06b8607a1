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
