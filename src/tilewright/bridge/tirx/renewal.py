"""Copies of proved loops at other indices: every loop in a copy has a variable of its own, and every buffer is new."""

from collections.abc import Callable, Mapping
from typing import Any

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.nodes import Buffer, Expr, Nodes, Stmt
from tilewright.bridge.tirx.parts import Part

__all__ = ["Renewal"]

Known = Mapping[Expr, Expr]


class Renewal:
    """Of one function, whose new variables it numbers."""

    def __init__(self, door: Door) -> None:
        self._door, self._t, self._n = door, door.tirx, Nodes(door)
        self._names = 0

    def index(self, prefix: str) -> Expr:
        """A variable that nothing else uses."""
        return self._n.var(self._name(prefix), "int64")

    def buffer(self, like: Buffer) -> Buffer:
        """A buffer that nothing else uses."""
        return self._n.like(like, self._name(str(like.name)), [int(extent.value) for extent in like.shape])

    def groups(self, part: Part, prefix: str, each: Callable[[Expr], Stmt]) -> Stmt:
        """`each`, which is made for the first index of a group, for all groups of a part."""
        if part.groups == 1:
            return each(self._n.i64(part.begin))
        group = self.index(prefix)
        at = self._n.mul(group, self._n.i64(part.size))
        body = each(self._n.add(self._n.i64(part.begin), at) if part.begin else at)
        return self.loop(group, part.groups, body, self._t.ForKind.SERIAL)

    def loop(self, index: Expr, extent: int, body: Stmt, kind: Any) -> Stmt:
        """A loop from zero."""
        return self._t.For(index, self._n.i64(0), self._n.i64(extent), kind, body)

    def around(self, loop: Stmt, body: Stmt) -> Stmt:
        """The loop with another body."""
        notes = dict(loop.annotations)
        return self._t.For(loop.loop_var, loop.min, loop.extent, loop.kind, body, annotations=notes)

    def copy(self, root: Any, known: Known) -> Any:
        """A copy of a statement or expression in which each known variable or buffer is what stands for it."""
        t, ffi, own = self._t, self._door.ffi, dict[Expr, Expr]()

        def enter_loop(loop: Stmt) -> None:
            own[loop.loop_var] = self.index("k")

        def enter_buffer(allocation: Stmt) -> None:
            own[allocation.buffer] = self.buffer(allocation.buffer)

        ffi.structural_walk(root, [(t.For, enter_loop), (t.AllocBuffer, enter_buffer)], order="pre")
        stands = {**known, **own}

        def known_or_same(var: Expr) -> Expr:
            return stands.get(var, var)

        return ffi.structural_map(root, (t.Var, known_or_same))

    def _name(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}_{self._names}"
