"""TW4xx: valid programs that a route or target refuses."""

from ..diagnostics import Code
