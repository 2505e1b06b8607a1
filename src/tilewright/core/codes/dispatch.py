"""TW6xx: wrong buffers, arguments and commands."""

from ..diagnostics import Code
