"""The passes of every route, as literal tuples. A line says why its pass stands where it does."""

from tilewright.ir.rewrite import TilePass
from tilewright.passes.drop_dead_carries import DropDeadCarries
from tilewright.passes.drop_identity_maps import DropIdentityMaps
from tilewright.passes.erase_dead_code import EraseDeadCode
from tilewright.passes.fold_constants import FoldConstants
from tilewright.passes.merge_equal_values import MergeEqualValues

__all__ = ["CANONICAL"]

# What every route starts from: the same kernel with nothing said twice and nothing said in vain.
CANONICAL: tuple[TilePass, ...] = (
    FoldConstants(),  # first: folded index arithmetic makes more values equal
    DropIdentityMaps(),  # before merging: values computed from a copied tile become values computed from the tile
    MergeEqualValues(),  # after folding, which leaves a constant of its own for every operation it folds
    EraseDeadCode(),  # before carries: what nothing observes must not keep a carried value alive
    DropDeadCarries(),  # last: needs the copies and the dead uses gone, and erases what only dead carries served
)
