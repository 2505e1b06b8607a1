"""How logically parallel loops are executed on the CPU: the outermost ones on the pool or in order, others in order.

The exporter says that instances are independent; this decides on the TIRx it is given, and says why. A root in an
explicit worker scope runs on the pool, and so does every root when nothing is planned. An automatic one with few
programs does so only if their work is worth a launch.
"""

from dataclasses import dataclass
from typing import Any

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.options import TirxPlanner
from tilewright.bridge.tirx.providers.choices import FOLDS

__all__ = ["Execution", "map_execution"]

PARALLEL, SCOPE = "tile.parallel", "tile.scope"
# Operators of TVM, which are known by their registered names.
_EXPENSIVE = frozenset(
    f"tirx.{name}"
    for name in (
        *("exp", "exp2", "exp10", "erf", "tanh", "sigmoid", "log", "log2", "log1p", "log10"),
        *("call_extern", "call_pure_extern", "tvm_call_packed", "tvm_call_cpacked"),
    )
)


@dataclass(frozen=True, slots=True)
class Execution:
    """The function with the kinds of its loops decided, and one line a parallel loop."""

    function: Any
    launches: int
    reasons: tuple[str, ...]


def map_execution(door: Door, function: Any, planner: TirxPlanner, *, in_order: str = "") -> Execution:
    """`in_order` is a reason for which no loop may run on several workers at once."""
    mapper = _Mapper(door, planner, in_order)
    body = mapper.statement(function.body, outermost=True)
    return Execution(function.with_body(body), mapper.launches, tuple(mapper.reasons))


class _Mapper:
    """One walk over the loops of a function."""

    def __init__(self, door: Door, planner: TirxPlanner, in_order: str) -> None:
        self._door, self._tirx, self._planner, self._in_order = door, door.tirx, planner, in_order
        self.launches = 0
        self.reasons: list[str] = []

    def statement(self, statement: Any, *, outermost: bool) -> Any:
        """The statement with its parallel loops mapped; `outermost` while none is open."""
        t = self._tirx
        match statement:
            case t.For():
                return self._loop(statement, outermost=outermost)
            case t.SeqStmt():
                return t.SeqStmt([self.statement(each, outermost=outermost) for each in statement.seq])
            case t.IfThenElse():
                then = self.statement(statement.then_case, outermost=outermost)
                return t.IfThenElse(statement.condition, then, statement.else_case)
            case _:
                return statement

    def _loop(self, loop: Any, *, outermost: bool) -> Any:
        is_parallel = PARALLEL in loop.annotations
        kind = self._kind(loop, outermost=outermost) if is_parallel else loop.kind
        body = self.statement(loop.body, outermost=outermost and not is_parallel)
        notes = dict(loop.annotations)
        return self._tirx.For(loop.loop_var, loop.min, loop.extent, kind, body, annotations=notes)

    def _kind(self, loop: Any, *, outermost: bool) -> Any:
        reason, on_pool = self._decision(loop, outermost=outermost)
        self.launches += on_pool
        where = "on the pool" if on_pool else "in order"
        self.reasons.append(f"parallel region of {int(loop.extent.value)} programs {where}: {reason}")
        kinds = self._tirx.ForKind
        return kinds.PARALLEL if on_pool else kinds.SERIAL

    def _decision(self, loop: Any, *, outermost: bool) -> tuple[str, bool]:
        extent, limit = int(loop.extent.value), self._planner.min_cpu_parallel_tasks
        if not outermost:
            return "it stands inside another parallel region", False
        if self._in_order:
            return self._in_order, False
        if SCOPE in loop.annotations and str(loop.annotations[SCOPE]) == "worker":
            return "its scope is worker", True
        if not self._planner.enabled:
            return "the planner is off", True
        if extent >= limit:
            return f"at least {limit} programs", True
        if extent > 1 and self._is_expensive(loop.body):
            return "few programs, but they call functions", True
        return f"fewer than {limit} cheap programs", False

    def _is_expensive(self, body: Any) -> bool:
        """Whether a call of a transcendental function or of unknown code stands in it; sums of rows are neither."""
        found, ir = list[bool](), self._door.tvm.ir

        def visit(call: Any) -> None:
            known = isinstance(call.op, ir.Op) and str(call.op.name) in _EXPENSIVE
            found.append(known and getattr(call.args[0], "value", None) not in FOLDS)

        self._door.ffi.structural_walk(body, [(ir.Call, visit)], order="pre")
        return any(found)
