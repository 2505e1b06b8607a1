"""TW3xx: aliases, escapes, races and bounds."""

from ..diagnostics import Code
