"""Proofs about index maps, three-valued: unknown is never success.

The procedure, in order: a map that is no map; an empty domain; the two extreme corners; affine normal forms, which
decide totality, bounds and often injectivity without looking at points; bit-linear forms (`layout_bits`) for what is
left; enumeration of small domains, whose answer replaces everything.
"""

from dataclasses import dataclass, replace
from enum import Enum

from tilewright.ir.affine import Affine, collision_of, is_injective, normalize
from tilewright.ir.index_map import IndexMap, Point
from tilewright.ir.layout_bits import analyze_bits
from tilewright.ir.layout_enumeration import MAX_POINTS, analyze_finite, first_collision

__all__ = ["LayoutProof", "Truth", "prove"]


class Truth(Enum):
    """What is known of a statement."""

    UNKNOWN = "unknown"
    PROVEN = "proven"
    DISPROVEN = "disproven"

    @staticmethod
    def of(fact: bool | None) -> "Truth":  # noqa: FBT001 - the argument is the fact itself
        if fact is None:
            return Truth.UNKNOWN
        return Truth.PROVEN if fact else Truth.DISPROVEN


@dataclass(frozen=True, slots=True)
class LayoutProof:
    """Total: every point has a value. In bounds: inside the codomain. `reason` says what disproved the map as storage.

    `collision` holds two points with one image whenever injectivity was disproved and such points were found.
    """

    total: Truth = Truth.UNKNOWN
    in_bounds: Truth = Truth.UNKNOWN
    injective: Truth = Truth.UNKNOWN
    surjective: Truth = Truth.UNKNOWN
    enumerated: bool = False
    collision: tuple[Point, Point] | None = None
    reason: str = ""

    @property
    def is_storage_safe(self) -> bool:
        """Whether every element is known to have a cell of its own."""
        return {self.total, self.in_bounds, self.injective} == {Truth.PROVEN}

    @property
    def is_storage_invalid(self) -> bool:
        """Whether some element is known to have none."""
        return Truth.DISPROVEN in {self.total, self.in_bounds, self.injective}

    @property
    def is_decided(self) -> bool:
        return Truth.UNKNOWN not in {self.total, self.in_bounds, self.injective, self.surjective}


def prove(index_map: IndexMap, max_points: int = MAX_POINTS) -> LayoutProof:
    """What is known of `index_map`; domains beyond `max_points` are never enumerated, and 0 forbids it altogether."""
    fault = index_map.fault()
    if fault:
        return _disproved(f"it has {fault}")
    if index_map.domain.volume == 0:
        yes = Truth.PROVEN
        return LayoutProof(yes, yes, yes, Truth.of(index_map.codomain.volume == 0))
    proof = _corners(index_map)
    if proof.is_storage_invalid and proof.total is Truth.DISPROVEN:
        return proof
    forms = [normalize(output, index_map.domain) for output in index_map.outputs]
    known = [form for form in forms if form is not None]
    if len(known) == len(forms):
        proof = _affine(index_map, known, proof)
    if not proof.is_decided:
        proof = _bits(index_map, proof)
    if not proof.is_decided and index_map.domain.volume <= max_points:
        return _enumerated(index_map)
    return _with_collision(index_map, proof, max_points)


def _disproved(reason: str) -> LayoutProof:
    no = Truth.DISPROVEN
    return LayoutProof(no, no, no, no, reason=reason)


def _corners(index_map: IndexMap) -> LayoutProof:
    """The origin and the far corner are real points: a failure there, or one image for both, is a disproof."""
    origin = (0,) * index_map.domain.rank
    far = tuple(extent - 1 for extent in index_map.domain.extents)
    images = index_map.apply(origin), index_map.apply(far)
    for point, image in zip((origin, far), images, strict=True):
        if image is None:
            return _disproved(f"the element {point} has no storage cell")
    if origin != far and images[0] == images[1]:
        return _collided(LayoutProof(), (origin, far))
    return LayoutProof()


def _affine(index_map: IndexMap, forms: list[Affine], proof: LayoutProof) -> LayoutProof:
    """Affine values over a box reach both ends of their interval, so the interval decides bounds exactly."""
    for form, extent in zip(forms, index_map.codomain.extents, strict=True):
        if form.low < 0 or form.high >= extent:
            return _disproved(f"it reaches {form.low} ... {form.high} along an axis of {extent} cells")
    proof = replace(proof, total=Truth.PROVEN, in_bounds=Truth.PROVEN)
    if proof.injective is Truth.UNKNOWN:
        pair = collision_of(forms, index_map.domain)
        if pair is not None and index_map.apply(pair[0]) == index_map.apply(pair[1]):
            proof = _collided(proof, pair)
        elif index_map.domain.volume > index_map.codomain.volume:
            proof = _crowded(index_map, proof)
        elif is_injective(forms, index_map.domain):
            proof = replace(proof, injective=Truth.PROVEN)
    return _with_surjectivity(index_map, proof)


def _with_surjectivity(index_map: IndexMap, proof: LayoutProof) -> LayoutProof:
    """Counting decides surjectivity of a total map that stays in bounds."""
    points, cells = index_map.domain.volume, index_map.codomain.volume
    if proof.surjective is not Truth.UNKNOWN or proof.in_bounds is not Truth.PROVEN:
        return proof
    if cells == 1:
        return replace(proof, surjective=Truth.PROVEN)
    if points < cells:
        return replace(proof, surjective=Truth.DISPROVEN)
    if proof.injective is Truth.PROVEN:
        return replace(proof, surjective=Truth.of(points == cells))
    if proof.injective is Truth.DISPROVEN and points == cells:
        return replace(proof, surjective=Truth.DISPROVEN)
    return proof


def _bits(index_map: IndexMap, proof: LayoutProof) -> LayoutProof:
    """Fills what is unknown from the bit-linear form, if there is one."""
    facts = analyze_bits(index_map)
    if facts is None:
        return proof
    if facts.outside is not None:
        return _disproved(f"the element {facts.outside} has no storage cell")
    bounds = Truth.of(facts.in_bounds)
    if bounds is Truth.DISPROVEN:
        return _disproved("it reaches beyond the storage")
    if bounds is Truth.UNKNOWN:
        return proof
    proof = replace(proof, total=Truth.PROVEN, in_bounds=bounds)
    if proof.injective is Truth.UNKNOWN:
        if facts.injective:
            proof = replace(proof, injective=Truth.PROVEN)
        else:
            proof = _crowded(index_map, proof) if facts.collision is None else _collided(proof, facts.collision)
    if proof.surjective is Truth.UNKNOWN:
        proof = replace(proof, surjective=Truth.of(facts.surjective))
    return _with_surjectivity(index_map, proof)


def _enumerated(index_map: IndexMap) -> LayoutProof:
    facts = analyze_finite(index_map)
    proof = LayoutProof(
        Truth.of(facts.total),
        Truth.of(facts.in_bounds),
        Truth.of(facts.injective),
        Truth.of(facts.surjective),
        enumerated=True,
    )
    if facts.outside is not None:
        return replace(proof, reason=f"the element {facts.outside} has no storage cell")
    return proof if facts.collision is None else _collided(proof, facts.collision)


def _crowded(index_map: IndexMap, proof: LayoutProof) -> LayoutProof:
    points, cells = index_map.domain.volume, index_map.codomain.volume
    reason = f"it is not injective: {points} elements share {cells} cells"
    return replace(proof, injective=Truth.DISPROVEN, reason=reason)


def _collided(proof: LayoutProof, pair: tuple[Point, Point]) -> LayoutProof:
    reason = f"it is not injective: the elements {pair[0]} and {pair[1]} share a cell"
    return replace(proof, injective=Truth.DISPROVEN, collision=pair, reason=reason)


def _with_collision(index_map: IndexMap, proof: LayoutProof, max_points: int) -> LayoutProof:
    """Looks for the two points that a disproof by counting knows to exist, within the budget."""
    needed = min(index_map.codomain.volume + 1, index_map.domain.volume)
    if proof.injective is not Truth.DISPROVEN or proof.collision is not None or needed > max_points:
        return proof
    if proof.in_bounds is not Truth.PROVEN:
        return proof
    pair = first_collision(index_map, needed)
    return proof if pair is None else _collided(proof, pair)
