"""How logically parallel loops are executed on the CPU: the outermost ones on the pool, the others in order.

The exporter says that instances are independent; this decides on the TIRx it is given, and says why.
"""

from dataclasses import dataclass
from typing import Any

from tilewright.bridge.tirx.door import Door

__all__ = ["Execution", "map_execution"]

PARALLEL, SCOPE = "tile.parallel", "tile.scope"


@dataclass(frozen=True, slots=True)
class Execution:
    """The function with the kinds of its loops decided, and one line a parallel loop."""

    function: Any
    launches: int
    reasons: tuple[str, ...]


def map_execution(door: Door, function: Any, *, in_order: str = "") -> Execution:
    """`in_order` is a reason for which no loop may run on several workers at once."""
    mapper = _Mapper(door, in_order)
    body = mapper.statement(function.body, outermost=True)
    return Execution(function.with_body(body), mapper.launches, tuple(mapper.reasons))


class _Mapper:
    """One walk over the loops of a function."""

    def __init__(self, door: Door, in_order: str) -> None:
        self._tirx, self._ffi, self._in_order = door.tirx, door.ffi, in_order
        self.launches = 0
        self.reasons: list[str] = []

    def statement(self, statement: Any, *, outermost: bool) -> Any:
        """The statement with its parallel loops mapped; `outermost` while none is open."""
        t = self._tirx

        def visit(loop: Any) -> Any:
            is_parallel = PARALLEL in loop.annotations
            body = self.statement(loop.body, outermost=outermost and not is_parallel)
            kind = self._kind(loop, outermost=outermost) if is_parallel else loop.kind
            return t.For(loop.loop_var, loop.min, loop.extent, kind, body, annotations=dict(loop.annotations))

        return self._loops(statement, visit)

    def _loops(self, statement: Any, visit: Any) -> Any:
        """Applies `visit` to the loops nearest to the root of a statement, each once."""
        t = self._tirx
        if isinstance(statement, t.For):
            return visit(statement)
        if isinstance(statement, t.SeqStmt):
            return t.SeqStmt([self._loops(each, visit) for each in statement.seq])
        if isinstance(statement, t.IfThenElse):
            return t.IfThenElse(statement.condition, self._loops(statement.then_case, visit), None)
        return statement

    def _kind(self, loop: Any, *, outermost: bool) -> Any:
        kinds = self._tirx.ForKind
        extent = int(loop.extent.value)
        if not outermost:
            return self._say(kinds.SERIAL, extent, "in order: it stands inside another parallel region")
        if self._in_order:
            return self._say(kinds.SERIAL, extent, f"in order: {self._in_order}")
        if extent < 2:
            return self._say(kinds.SERIAL, extent, "in order: there is nothing to share out")
        self.launches += 1
        return self._say(kinds.PARALLEL, extent, "on the pool")

    def _say(self, kind: Any, extent: int, how: str) -> Any:
        self.reasons.append(f"parallel region of {extent} programs {how}")
        return kind
