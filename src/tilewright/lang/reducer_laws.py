"""A kernel that computes both sides of every law a reducer declares, for samples to be tried on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, SSAValue

from tilewright.core.dtypes import DType
from tilewright.core.source import Span, user_span
from tilewright.ir.kernel import Kernel
from tilewright.ir.location import location_of
from tilewright.ir.ops.regions import KernelOp, YieldOp
from tilewright.ir.ops.tiles import ExtractOp
from tilewright.ir.types import AxisAttr, DimAttr, SpaceAttr, ViewType
from tilewright.ir.verify import verify_or_raise
from tilewright.lang.annotations import ConstView1, View1
from tilewright.lang.base import use
from tilewright.lang.carry import OpenRegion
from tilewright.lang.context import Capture, capturing, current, emit
from tilewright.lang.maps import build_map
from tilewright.lang.nests import parallel
from tilewright.lang.operations import constant
from tilewright.lang.spaces import axis, coord, shape
from tilewright.lang.state_reducer import State, StateReducer
from tilewright.lang.values import Scalar, Tile

__all__ = ["OPERANDS", "Law", "law_kernel", "laws_of", "sides_of"]

CONTRIBUTIONS = 4
"""Elements of one sample: a = lift(0), b = merge(lift(1), lift(2)), c = lift(3)."""

OPERANDS = "abc"

Side = Callable[["_States"], State]


@dataclass(frozen=True, slots=True)
class Law:
    """One equation: what it says of a reducer, its sides as messages name them, and how each is computed."""

    name: str
    sides: tuple[str, str]
    compute: tuple[Side, Side]


@dataclass(frozen=True, slots=True)
class _States:
    """The operands of the laws."""

    merge: Callable[[State, State], State]
    e: State
    a: State
    b: State
    c: State


_IDENTITY = "left alone by its identity"
_LEFT = Law(_IDENTITY, ("merge(identity, a)", "a"), (lambda s: s.merge(s.e, s.a), lambda s: s.a))
_RIGHT = Law(_IDENTITY, ("merge(a, identity)", "a"), (lambda s: s.merge(s.a, s.e), lambda s: s.a))
_ASSOCIATIVE = Law(
    "associative", ("merge(merge(a, b), c)", "merge(a, merge(b, c))"),
    (lambda s: s.merge(s.merge(s.a, s.b), s.c), lambda s: s.merge(s.a, s.merge(s.b, s.c))),
)  # fmt: skip
_COMMUTATIVE = Law(
    "commutative", ("merge(a, b)", "merge(b, a)"), (lambda s: s.merge(s.a, s.b), lambda s: s.merge(s.b, s.a))
)


def laws_of(reducer: StateReducer[Any]) -> tuple[Law, ...]:
    """The laws that a reducer declares. Without associativity its identity is only where folds begin."""
    trees = (_LEFT, _RIGHT, _ASSOCIATIVE) if reducer.associative else ()
    return (*trees, *((_COMMUTATIVE,) if reducer.commutative else ()))


def sides_of(reducer: StateReducer[Any]) -> tuple[Side, ...]:
    """What is computed for every sample: the operands a, b and c, then both sides of each law."""
    operands: tuple[Side, ...] = (lambda s: s.a, lambda s: s.b, lambda s: s.c)
    return (*operands, *(side for law in laws_of(reducer) for side in law.compute))


def law_kernel(reducer: StateReducer[Any], elements: Sequence[type[DType]], count: int) -> Kernel:
    """The kernel: an argument for each contribution and element, then one for each of `sides_of` and each state.

    Every argument has one axis of `count` samples. Raises TileTypeError (TW225) and what the reducer's functions raise.
    """
    inputs = [dtype for _ in range(CONTRIBUTIONS) for dtype in elements]
    outputs = [dtype for _ in sides_of(reducer) for dtype in reducer.state]
    span = user_span()
    op, capture = _empty(reducer.name, inputs, outputs, count, span)
    with capturing(capture):
        _fill(reducer, op.body.block.args, len(inputs), count)
    op.body.block.add_op(YieldOp())
    if op.body.block.last_op is not None:
        op.body.block.last_op.location = op.location
    labels: dict[str, Attribute] = {str(number): StringAttr(label) for number, label in capture.labels.items()}
    op.properties["labels"] = DictionaryAttr(labels)
    module = ModuleOp([op])
    module.location = op.location
    verify_or_raise(module)
    return Kernel(module, op.sym_name.data)


def _empty(
    name: str, inputs: Sequence[type[DType]], outputs: Sequence[type[DType]], count: int, span: Span
) -> tuple[KernelOp, Capture]:
    parameters: list[tuple[str, Attribute]] = []
    for number, dtype in enumerate((*inputs, *outputs)):
        space = SpaceAttr.of([AxisAttr.of(DimAttr.of(number), count)])
        parameters.append((f"p{number}", ViewType.of(dtype, space, (1,), const=number < len(inputs))))
    op = KernelOp(f"laws of {name}", parameters)
    op.location = location_of(span)
    labels = {number: f"p{number}.0" for number in range(len(parameters))}
    return op, Capture(name, op.body.block, span, labels)


def _fill(reducer: StateReducer[Any], arguments: Sequence[SSAValue], inputs: int, count: int) -> None:
    capture, n = current("laws"), axis("n", count)
    region = OpenRegion.open(parallel(shape(axis("g", 1))), (), (), {})
    loads = [ConstView1(argument, "p", capture)[coord(0), shape(n)] for argument in arguments[:inputs]]
    stores = [View1(argument, "p", capture) for argument in arguments[inputs:]]
    targets = iter(stores)
    for side in sides_of(reducer):
        for place, dtype in enumerate(reducer.state):
            tile = build_map(dtype, shape(n).space, _component(reducer, loads, side, place))
            next(targets).at(coord(0), shape(n)).store(Tile(tile, capture))
    region.close({})


def _component(
    reducer: StateReducer[Any], loads: Sequence[Tile], side: Side, place: int
) -> Callable[[Sequence[SSAValue]], SSAValue]:
    return lambda indices: use(side(_operands(reducer, loads, indices[0]))[place])


def _operands(reducer: StateReducer[Any], loads: Sequence[Tile], index: SSAValue) -> _States:
    """The states of one sample."""

    def scalars(values: Sequence[SSAValue]) -> State:
        return tuple(Scalar(value, current("laws")) for value in values)

    def merge(first: State, second: State) -> State:
        return scalars(reducer.merged(first, second))

    elements = scalars([emit(ExtractOp(use(tile), [index])).result for tile in loads])
    size = len(elements) // CONTRIBUTIONS
    lifts = [scalars(reducer.lifted(elements[i * size : (i + 1) * size])) for i in range(CONTRIBUTIONS)]
    start = zip(reducer.state, reducer.identity, strict=True)
    identity = scalars([constant(dtype, value) for dtype, value in start])
    return _States(merge, identity, lifts[0], merge(lifts[1], lifts[2]), lifts[3])
