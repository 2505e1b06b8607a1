"""Layouts: index expressions, maps made of them, and proofs about the maps."""

from tilewright.ir.index_expr import ExprKind, IndexExpr, constant, coordinate
from tilewright.ir.index_map import IndexMap, Point, compose, identity, permute, reshape, strided
from tilewright.ir.layout_enumeration import FiniteFacts, analyze_finite
from tilewright.ir.layout_proof import LayoutProof, Truth, prove

__all__ = [
    "ExprKind", "FiniteFacts", "IndexExpr", "IndexMap", "LayoutProof", "Point", "Truth", "analyze_finite", "compose",
    "constant", "coordinate", "identity", "permute", "prove", "reshape", "strided",
]  # fmt: skip
