"""TW4xx: valid programs that a route or target refuses."""

from ..diagnostics import Code

NO_TILE_COMPILER = Code(
    401,
    "the device {device} compiles no tile kernels",
    why="compiling tile kernels is an optional ability of a device, and no other device stands in for it",
    help="compile for another device",
)
