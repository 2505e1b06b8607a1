"""TW1xx: Python outside the language."""

from ..diagnostics import Code
