"""Packs of one row: 4 to 16 neighbours along a loop of independent elements go as one vector.

Each element's own loops stay in their order, so every element has the bits that it had. What is left over at the end
of the loop goes in narrower packs, and at last one by one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilewright.bridge.tirx.cells import Private, private
from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.guards import Guarded, Lanes, guarded_by, too_many
from tilewright.bridge.tirx.lanes import LANE_GUARDS, Lane, LaneProof, is_plain
from tilewright.bridge.tirx.masks import MaskProof
from tilewright.bridge.tirx.nodes import Buffer, Expr, Nodes, Stmt
from tilewright.bridge.tirx.options import LANES
from tilewright.bridge.tirx.parts import Part, parts_of
from tilewright.bridge.tirx.ranges import Ranges
from tilewright.bridge.tirx.renewal import Renewal
from tilewright.bridge.tirx.together import Forms, Together

__all__ = ["Proofs", "Row", "RowPacks", "parts_of_row", "row_of", "width_of"]

_LEAST = 4


def width_of(extent: int) -> int:
    """Lanes of a pack: a power of two that goes at least once into the extent, 0 where there are too few elements."""
    if extent < _LEAST:
        return 0
    width = _LEAST
    while width < LANES and extent >= 2 * width:
        width *= 2
    return width


@dataclass(frozen=True, slots=True)
class Proofs:
    """What every proof of one function goes by. `apart`: a promise keeps what is stored to from all other arguments."""

    door: Door
    arguments: Sequence[Buffer]
    ranges: Ranges
    apart: bool

    def against(self, lane: Lane, body: Stmt) -> str:
        """Why the body has no packs along a lane; empty if all of it is proved."""
        return LaneProof(self.door, lane, self.arguments, apart=self.apart).reason_against(body)

    def against_masks(self, lane: Lane, body: Stmt) -> str:
        """Why the body has no packs under masks."""
        return MaskProof(self.door, lane, self.arguments, apart=self.apart).reason_against(body)


@dataclass(frozen=True, slots=True)
class Row:
    """A loop whose packs are proved, and the forms of its body in them."""

    loop: Stmt
    lane: Lane
    forms: Forms

    @property
    def width(self) -> int:
        """Lanes of the widest packs."""
        return self.lane.width


def row_of(proofs: Proofs, loop: Stmt) -> Row | str:
    """The loop as a row of packs, or why it is none."""
    reason = _shape(proofs.door, loop)
    if reason:
        return reason
    lane = Lane(proofs.door, loop.loop_var, width_of(int(loop.extent.value)))
    forms = _forms(proofs, lane, private(proofs.door, lane, loop.body))
    return forms if isinstance(forms, str) else Row(loop, lane, forms)


def _forms(proofs: Proofs, lane: Lane, own: Private) -> Forms | str:
    reason = proofs.against(lane, own.body)
    if reason not in LANE_GUARDS:
        return reason or Forms(own, Guarded((), own.body))
    has_masks = not proofs.against_masks(lane, own.body)
    bare = guarded_by(proofs.door, [lane], proofs.ranges, own.body)
    reason = too_many(bare) or proofs.against(lane, bare.body)
    if reason and has_masks:
        return Forms(own, Guarded((), own.body), has_masks=True, needs_masks=True)
    return reason or Forms(own, bare, has_masks)


def _shape(door: Door, loop: Stmt) -> str:
    if not is_plain(door, loop):
        return "it is no plain loop"
    return "" if width_of(int(loop.extent.value)) else f"fewer than {_LEAST} elements"


class RowPacks:
    """The statements of packs."""

    def __init__(self, door: Door, renewal: Renewal, together: Together) -> None:
        self._door, self._t, self._n = door, door.tirx, Nodes(door)
        self._renewal, self._together = renewal, together

    def all_of(self, row: Row) -> Stmt:
        """Wide packs, then narrower ones, and what is left one by one."""
        return self._n.sequence([self._part(row, part) for part in parts_of_row(row)])

    def _part(self, row: Row, part: Part) -> Stmt:
        if part.size == 1:
            return self.one_by_one(row, self._n.i64(part.begin), part.groups)
        return self._renewal.groups(part, "q", lambda first: self.at(row, first, part.size))

    def at(self, row: Row, first: Expr, width: int) -> Stmt:
        """The pack that begins at an index."""
        sides = [Lanes(row.lane, first, width)]
        return self._together.pack(row.forms, sides, [{}], lambda: self.one_by_one(row, first, width))

    def one_by_one(self, row: Row, first: Expr, count: int) -> Stmt:
        """The loop as it was, over a part of it."""
        lane = self._renewal.index("l")
        body = self._renewal.copy(row.loop.body, {row.lane.index: self._n.add(first, lane)})
        return self._renewal.loop(lane, count, body, self._t.ForKind.SERIAL)


def parts_of_row(row: Row) -> Iterator[Part]:
    """Packs from the widest on, and single elements."""
    return parts_of(int(row.loop.min.value), int(row.loop.extent.value), row.width, _LEAST)
