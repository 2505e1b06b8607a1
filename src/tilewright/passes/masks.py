"""Accesses under another mask."""

from xdsl.ir import SSAValue

from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.rewrite import TileRewriter
from tilewright.ir.types import tile_type

__all__ = ["replace_mask"]


def replace_mask(op: LoadOp | StoreOp, mask: SSAValue | None, rewriter: TileRewriter) -> None:
    """Puts the same access with this mask (None: everywhere) in the place of `op`."""
    if isinstance(op, StoreOp):
        rewriter.replace(op, [StoreOp(op.view, op.origin, op.value, mask=mask, bounds=op.bounds.data)], [])
        return
    new = LoadOp(op.view, op.origin, tile_type(op.result), fill=op.fill, mask=mask, bounds=op.bounds.data)
    rewriter.replace(op, [new])
