"""Layouts: index expressions, maps made of them, proofs about the maps, and relations over hardware axes."""

from tilewright.ir.index_expr import ExprKind, IndexExpr, constant, coordinate
from tilewright.ir.index_map import IndexMap, Point, compose, identity, permute, reshape, strided
from tilewright.ir.layout_enumeration import FiniteFacts, analyze_finite
from tilewright.ir.layout_export import export_shards
from tilewright.ir.layout_proof import LayoutProof, Truth, prove
from tilewright.ir.layout_relation import Relation, RelationFacts, analyze_relation, relation_of
from tilewright.ir.layout_shards import Iter, ShardLayout, relation_of_shards

__all__ = [
    "ExprKind", "FiniteFacts", "IndexExpr", "IndexMap", "Iter", "LayoutProof", "Point", "Relation", "RelationFacts",
    "ShardLayout", "Truth", "analyze_finite", "analyze_relation", "compose", "constant", "coordinate",
    "export_shards", "identity", "permute", "prove", "relation_of", "relation_of_shards", "reshape", "strided",
]  # fmt: skip
