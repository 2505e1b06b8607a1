"""The pass `drop-identity-maps`."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from tilewright.ir.ops.regions import YieldOp
from tilewright.ir.ops.tiles import ExtractOp, MapOp
from tilewright.ir.rewrite import TilePass, TileRewriter

__all__ = ["DropIdentityMaps"]


@dataclass(frozen=True)
class DropIdentityMaps(TilePass):
    """Replaces maps that copy a tile element by element.

    Requires: a verified module.
    Ensures: no map extracts every element of one tile, in its place, into a tile of the same type.
    Rewrites: `%b = tile.map [i, j] { yield tile.extract %a, i, j }` → `%a`.
    Declines when: the tile's type differs (the map relabels a dimension), the coordinates are permuted or computed,
        or the tile is defined inside the map.
    """

    name: ClassVar[str] = "drop-identity-maps"

    def apply(self, module: ModuleOp, rewriter: TileRewriter) -> None:
        for op in list(module.walk()):
            source = _copied(op) if isinstance(op, MapOp) else None
            if source is not None:
                rewriter.replace_values(op, [source])


def _copied(op: MapOp) -> SSAValue | None:
    """The tile that the map copies, if that is all it does."""
    block = op.body.block
    last = block.last_op
    if not isinstance(last, YieldOp) or not isinstance(last.values[0].owner, ExtractOp):
        return None
    extract = last.values[0].owner
    if tuple(extract.coords) != tuple(block.args) or extract.tile.type != op.result.type:
        return None
    return None if op.is_ancestor(extract.tile.owner) else extract.tile
