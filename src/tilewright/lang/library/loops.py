"""Ordered loops that library algorithms carry tiles and scalars through, made without a `for`."""

from collections.abc import Callable, Sequence

from xdsl.ir import Block, SSAValue
from xdsl.ir import Region as Body

from tilewright.core.source import user_span
from tilewright.ir.attrs import Policy
from tilewright.ir.ops.regions import ReduceOp, SerialOp, YieldOp
from tilewright.ir.types import I64, SpaceAttr
from tilewright.lang.base import use
from tilewright.lang.context import Frame, current, emit
from tilewright.lang.spaces import Axis
from tilewright.lang.values import Scalar, Tile, wrap

__all__ = ["fold_tiles", "repeat"]

_Step = Callable[[Sequence[Scalar], Sequence[Tile | Scalar]], Sequence[Tile | Scalar]]


def repeat(space: SpaceAttr, start: Sequence[Tile | Scalar], step: _Step) -> list[Tile | Scalar]:
    """The carried values after one `step` a point of `space`, in order; a serial region."""
    body, inits = _body("serial", space, start, step)
    op = emit(SerialOp(space, inits, body=body))
    return [wrap(result) for result in op.results]


def fold_tiles(
    axis: Axis, start: Sequence[Tile], step: Callable[[Scalar, Sequence[Tile]], Sequence[Tile]], policy: Policy
) -> list[Tile]:
    """The carried tiles after one `step` a place along the axis; a reduce region."""
    space = SpaceAttr.of([axis.attr])

    def inner(places: Sequence[Scalar], states: Sequence[Tile | Scalar]) -> Sequence[Tile]:
        return step(places[0], [state for state in states if isinstance(state, Tile)])

    body, inits = _body("reduce", space, start, inner)
    op = emit(ReduceOp(space, inits, policy=policy, body=body))
    return [Tile(result, current("reduce")) for result in op.results]


def _body(kind: str, space: SpaceAttr, start: Sequence[Tile | Scalar], step: _Step) -> tuple[Body, list[SSAValue]]:
    inits = [use(value) for value in start]
    capture, span = current(kind), user_span()
    block = Block(arg_types=[I64] * space.rank + [init.type for init in inits])
    places, states = block.args[: space.rank], block.args[space.rank :]
    frame = Frame(kind, block, span, capture.frame, dict(zip(space.dims, places, strict=True)))
    capture.enter(frame)
    following = step([Scalar(place, capture) for place in places], [wrap(state) for state in states])
    emit(YieldOp([use(value) for value in following]), span)
    capture.leave(frame)
    return Body(block), inits
