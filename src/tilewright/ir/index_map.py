"""Maps between index spaces, one expression for each axis of the codomain."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from tilewright.core.codes.types import UNSAFE_LAYOUT
from tilewright.core.errors import TileTypeError
from tilewright.core.source import user_span
from tilewright.ir.index_expr import INT64_MAX, IndexExpr, constant, coordinate, evaluate, in_order
from tilewright.ir.types import AxisAttr, DimAttr, SpaceAttr, compact_strides

__all__ = ["IndexMap", "Point", "compose", "identity", "permute", "reshape", "strided"]

Point = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class IndexMap:
    """`outputs[j]` gives the coordinate along axis j of `codomain` for a point of `domain`."""

    domain: SpaceAttr
    codomain: SpaceAttr
    outputs: tuple[IndexExpr, ...]

    def fault(self) -> str:
        """Why this is no map at all; empty for a proper one."""
        if len(self.outputs) != self.codomain.rank:
            return f"{len(self.outputs)} expressions for {self.codomain.rank} axes"
        for space in (self.domain, self.codomain):
            if len(set(space.dims)) != space.rank or any(extent < 0 for extent in space.extents):
                return "a space with a repeated dimension or a negative extent"
        used = {node.dim for node in in_order(self.outputs) if node.dim is not None}
        foreign = used - set(self.domain.dims)
        return f"a coordinate along d{min(dim.number for dim in foreign)}, which the domain lacks" if foreign else ""

    def apply(self, point: Sequence[int]) -> Point | None:
        """The image of a point; None outside the domain, where an expression has no value, or outside the codomain."""
        extents = self.domain.extents
        if len(point) != len(extents) or not all(0 <= x < n for x, n in zip(point, extents, strict=True)):
            return None
        columns = {dim: np.array([x], np.int64) for dim, x in zip(self.domain.dims, point, strict=True)}
        image: list[int] = []
        for result, extent in zip(evaluate(self.outputs, columns, 1), self.codomain.extents, strict=True):
            value = int(result.values[0])
            if not result.defined[0] or not 0 <= value < extent:
                return None
            image.append(value)
        return tuple(image)


def identity(space: SpaceAttr) -> IndexMap:
    """Every point to itself."""
    return IndexMap(space, space, tuple(coordinate(dim) for dim in space.dims))


def compose(outer: IndexMap, inner: IndexMap) -> IndexMap:
    """First `inner`, then `outer`. Raises TileTypeError (TW281) unless inner ends exactly where outer begins."""
    if inner.codomain != outer.domain:
        raise _refusal("maps compose only when the first ends in the space where the second begins")
    substitutes = dict(zip(outer.domain.dims, inner.outputs, strict=True))
    rebuilt: dict[int, IndexExpr] = {}
    for node in in_order(outer.outputs):
        if node.dim is not None:
            rebuilt[id(node)] = substitutes[node.dim]
        elif node.lhs is not None and node.rhs is not None:
            rebuilt[id(node)] = IndexExpr(node.kind, lhs=rebuilt[id(node.lhs)], rhs=rebuilt[id(node.rhs)])
        else:
            rebuilt[id(node)] = node
    return IndexMap(inner.domain, outer.codomain, tuple(rebuilt[id(output)] for output in outer.outputs))


def permute(domain: SpaceAttr, dims: Sequence[DimAttr]) -> IndexMap:
    """The same dimensions in another order. Raises TileTypeError (TW281) when `dims` is not a permutation of them."""
    extents = {axis.dim: axis for axis in domain.axes}
    if len(dims) != domain.rank or set(dims) != set(extents):
        raise _refusal("a permutation names every dimension of the space once")
    return IndexMap(domain, SpaceAttr.of(extents[dim] for dim in dims), tuple(coordinate(dim) for dim in dims))


def reshape(domain: SpaceAttr, codomain: SpaceAttr) -> IndexMap:
    """Row-major order kept. Raises TileTypeError (TW281) for unequal or zero volumes, or ones beyond 64 bits."""
    if domain.volume != codomain.volume or not 0 < domain.volume <= INT64_MAX:
        raise _refusal(f"a reshape keeps the number of points, here {domain.volume} and {codomain.volume}")
    flat = _linear(domain, compact_strides(domain.extents))
    steps = zip(compact_strides(codomain.extents), codomain.extents, strict=True)
    return IndexMap(domain, codomain, tuple(flat // step % extent for step, extent in steps))


def strided(domain: SpaceAttr, storage: DimAttr, strides: Sequence[int]) -> IndexMap:
    """Coordinates times strides into one axis just long enough.

    Raises TileTypeError (TW281) unless there is one stride per axis, none negative, and the sum fits into 64 bits.
    """
    if len(strides) != domain.rank or any(not 0 <= step <= INT64_MAX for step in strides):
        raise _refusal("a strided layout has one stride from 0 per axis")
    last = sum((extent - 1) * step for extent, step in zip(domain.extents, strides, strict=True) if extent)
    length = 0 if prod(domain.extents) == 0 else 1 + last
    if length > INT64_MAX:
        raise _refusal("the storage of a strided layout has more than 2**63 - 1 cells")
    return IndexMap(domain, SpaceAttr.of([AxisAttr.of(storage, length)]), (_linear(domain, strides),))


def _linear(space: SpaceAttr, strides: Sequence[int]) -> IndexExpr:
    total = constant(0)
    for dim, step in zip(space.dims, strides, strict=True):
        total = total + coordinate(dim) * step
    return total


def _refusal(what: str) -> TileTypeError:
    return TileTypeError(UNSAFE_LAYOUT.at(user_span(), what=what))
