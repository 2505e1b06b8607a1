"""Integers as the lowering sees them: the same in every lane, moving by a constant from lane to lane, or a vector.

An address that moves by 1 is a contiguous access, by 0 a broadcast. Keeping this in the value makes it a proof by
construction.
"""

from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilewright.xir.builder import XirBuilder
from tilewright.xir.constants import known_int
from tilewright.xir.types import lanes_of

__all__ = ["Coord", "CoordMath"]


@dataclass(frozen=True)
class Coord:
    """Lane l holds `base + step * l`; when `base` is itself a vector, `step` is 0 and lane l holds its lane l."""

    base: SSAValue
    step: int = 0

    @property
    def is_vector(self) -> bool:
        """Whether nothing is known of how lanes differ."""
        return lanes_of(self.base.type) > 1

    @property
    def is_uniform(self) -> bool:
        """Whether all lanes hold the same number."""
        return not self.step and not self.is_vector

    @property
    def known(self) -> int | None:
        """The number, when it is a constant."""
        return known_int(self.base) if self.is_uniform else None


@dataclass(frozen=True)
class CoordMath:
    """Arithmetic that keeps lane steps as long as it can."""

    builder: XirBuilder
    width: int

    def const(self, value: int) -> Coord:
        return Coord(self.builder.i64(value))

    def add(self, a: Coord, b: Coord) -> Coord:
        if a.is_vector or b.is_vector:
            return Coord(self.builder.add(*self._pair(a, b)))
        return Coord(self.builder.add(a.base, b.base), a.step + b.step)

    def sub(self, a: Coord, b: Coord) -> Coord:
        if a.is_vector or b.is_vector:
            return Coord(self.builder.sub(*self._pair(a, b)))
        return Coord(self.builder.sub(a.base, b.base), a.step - b.step)

    def mul(self, a: Coord, b: Coord) -> Coord:
        if a.known is not None:
            a, b = b, a
        if b.known is not None and not a.is_vector:
            return Coord(self.builder.mul(a.base, b.base), a.step * b.known)
        if a.is_uniform and b.is_uniform:
            return Coord(self.builder.mul(a.base, b.base))
        return Coord(self.builder.mul(*self._pair(a, b)))

    def scale(self, a: Coord, factor: int) -> Coord:
        return self.mul(a, self.const(factor))

    def value(self, a: Coord) -> SSAValue:
        """A scalar when uniform, else a vector."""
        if a.is_uniform or a.is_vector:
            return a.base
        lanes = self.builder.lanes(self.width)
        if a.step != 1:
            lanes = self.builder.mul(lanes, self.builder.const(lanes.type, a.step))
        return self.builder.add(self.builder.broadcast(a.base, self.width), lanes)

    def vector(self, a: Coord) -> SSAValue:
        """Always a vector."""
        value = self.value(a)
        return value if lanes_of(value.type) > 1 else self.builder.broadcast(value, self.width)

    def _pair(self, a: Coord, b: Coord) -> tuple[SSAValue, SSAValue]:
        return self.vector(a), self.vector(b)
