"""TW5xx: what makes machine code failed."""

from ..diagnostics import Code

BAD_SETTING = Code(
    501,
    "the environment variable {name} is {value!r}, which is not {wanted}",
    why="settings are read once, before the first compilation, and are never guessed",
    help="set {name} to {wanted}, or unset it",
)
