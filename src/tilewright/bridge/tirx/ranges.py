"""Intervals of index expressions of TIRx, from the extents of loops and from the values that have names."""

from typing import Any

from tilewright.analysis.ranges import Interval
from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.nodes import Expr, Stmt

__all__ = ["Ranges"]

_LOW, _HIGH = -(1 << 63), (1 << 63) - 1
_ANY = Interval(_LOW, _HIGH)


class Ranges:
    """What the loops and names of a function say about its 64-bit indices."""

    def __init__(self, door: Door, body: Stmt) -> None:
        self._t = t = door.tirx
        self._known: dict[Expr, Interval] = {}
        door.ffi.structural_walk(body, [(t.For, self._enter_loop), (t.Bind, self._enter_name)], order="pre")

    def of(self, e: Expr) -> Interval:
        """An interval that holds every value of `e`."""
        t = self._t
        match e:
            case t.IntImm():
                return Interval(int(e.value), int(e.value))
            case t.Var():
                return self._known.get(e, _ANY)
            case t.Add() | t.Sub() | t.Mul() | t.Min() | t.Max():
                return self._of_two(e, self.of(e.a), self.of(e.b))
            case t.FloorDiv() | t.FloorMod() if isinstance(e.b, t.IntImm) and int(e.b.value) > 0:
                return self._divided(e, self.of(e.a), int(e.b.value))
            case _:
                return _ANY

    def is_known(self, e: Expr) -> bool:
        """Whether anything is known: if so, no part of `e` can leave 64 bits, wherever it is evaluated."""
        return self.of(e) != _ANY

    def _of_two(self, e: Expr, a: Interval, b: Interval) -> Interval:
        t = self._t
        match e:
            case t.Add():
                low, high = a.low + b.low, a.high + b.high
            case t.Sub():
                low, high = a.low - b.high, a.high - b.low
            case t.Mul():
                corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
                low, high = min(corners), max(corners)
            case t.Min():
                low, high = min(a.low, b.low), min(a.high, b.high)
            case _:
                low, high = max(a.low, b.low), max(a.high, b.high)
        return Interval(low, high) if low >= _LOW and high <= _HIGH else _ANY

    def _divided(self, e: Expr, a: Interval, divisor: int) -> Interval:
        if isinstance(e, self._t.FloorDiv):
            return Interval(a.low // divisor, a.high // divisor)
        return a if a.within(divisor) else Interval(0, divisor - 1)

    def _enter_loop(self, loop: Any) -> None:
        first, extent = self.of(loop.min), self.of(loop.extent)
        if extent.high < _HIGH:
            self._known[loop.loop_var] = Interval(first.low, first.high + max(extent.high - 1, 0))

    def _enter_name(self, named: Any) -> None:
        self._known[named.var] = self.of(named.value)
