"""TileIR modules written by hand, one call an operation, each with the place of the test line that wrote it."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.core.dtypes import DType, boolean, f32, i64
from tilewright.core.source import Span, user_span
from tilewright.ir.attrs import Bounds, Policy, UpdateKind
from tilewright.ir.builder import TileBuilder
from tilewright.ir.dialect import ELEMENTWISE_OPS
from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.access import LoadElementOp, LoadOp, StoreElementOp, StoreOp, UpdateOp
from tilewright.ir.ops.convert import BitcastOp, CastOp
from tilewright.ir.ops.elementwise import CompareOp, PredicateOp
from tilewright.ir.ops.memory import MemoryAllocOp, MemoryLoadOp, MemoryStoreOp
from tilewright.ir.ops.regions import KernelOp, ParallelOp, PipelineOp, ReduceOp, SerialOp, YieldOp
from tilewright.ir.ops.tiles import ConstantOp, ExtractOp, MapOp, MmaOp, ScanOp
from tilewright.ir.types import (
    AxisAttr,
    DimAttr,
    MemoryType,
    SpaceAttr,
    TileType,
    ViewType,
    compact_strides,
    dtype_of,
    element_attr,
    element_of,
    space_of,
    view_type,
)
from tilewright.ir.verify import verify_or_raise
from tilewright.numerics.arrays import numpy_dtype
from tilewright.numerics.bits import to_bits

OpT = TypeVar("OpT", bound=Operation)
Element = type[DType]
_OPS: dict[str, Any] = {op.name: op for op in ELEMENTWISE_OPS}
_BOOLEAN = frozenset(op.name for op in ELEMENTWISE_OPS if issubclass(op, CompareOp | PredicateOp))


def space(**extents: int) -> SpaceAttr:
    """`space(m=4, k=8)`: dimensions are named by letters, and the same letter is the same dimension everywhere."""
    return SpaceAttr.of(AxisAttr.of(DimAttr.of(number_of(name)), extent) for name, extent in extents.items())


def number_of(name: str) -> int:
    return ord(name) - ord("a") + 1000


@dataclass(frozen=True)
class View:
    """A parameter of a hand-made kernel: a view, or without a shape a scalar."""

    dtype: Element
    shape: tuple[int, ...] | None
    const: bool = False


@dataclass
class Body:
    """A region being written: its indices and carried values, then what it yields and what came out."""

    indices: tuple[SSAValue, ...]
    carries: tuple[SSAValue, ...]
    results: Sequence[SSAValue]
    yielded: Sequence[SSAValue] = ()

    def yields(self, *values: SSAValue) -> None:
        self.yielded = values


class Hand:
    """A kernel being written by hand. Parameters are attributes: `Hand(x=View(f32, (8,))).x`."""

    def __init__(self, **parameters: View) -> None:
        kinds = [(name, _view(view, i)) for i, (name, view) in enumerate(parameters.items())]
        labels = {number_of(chr(code)): chr(code) for code in range(ord("a"), ord("z") + 1)}
        labels |= {64 * i + axis: f"{name}.{axis}" for i, (name, _) in enumerate(kinds) for axis in range(8)}
        self.op = KernelOp("by_hand", kinds, labels)
        self.arguments = dict(zip(parameters, self.op.body.block.args, strict=True))
        self.builder = TileBuilder(self.op.body.block)

    def __getattr__(self, name: str) -> SSAValue:
        return self.arguments[name]

    def kernel(self) -> Kernel:
        """The finished kernel, verified."""
        kernel = self.unverified()
        verify_or_raise(kernel.module)
        return kernel

    def unverified(self) -> Kernel:
        """The finished kernel as it is, to show what the interpreter says about a program the verifier refuses."""
        self.put(YieldOp())
        return Kernel(ModuleOp([self.op]), "by_hand")

    def put(self, op: OpT) -> OpT:
        return self.builder.insert(op, _test_line())

    # scalars and tiles

    def const(self, value: object, dtype: Element = f32, over: SpaceAttr | None = None) -> SSAValue:
        bits = int(to_bits(dtype, np.asarray(value).astype(numpy_dtype(dtype))))
        kind = element_attr(dtype) if over is None else TileType.of(dtype, over)
        return self.put(ConstantOp(bits, kind)).result

    def index(self, value: int) -> SSAValue:
        return self.const(value, i64)

    def do(self, name: str, *operands: SSAValue) -> SSAValue:
        """The elementwise operation `tile.name`; the result's space is that of all operands."""
        kind = _OPS[f"tile.{name}"]
        dtype = boolean if kind.name in _BOOLEAN else dtype_of(element_of(operands[-1]))
        return self.put(kind(*operands, _typed(dtype, operands))).result

    def cast(self, value: SSAValue, dtype: Element, *, saturating: bool = False) -> SSAValue:
        return self.put(CastOp(value, _typed(dtype, [value]), saturating=saturating)).result

    def bitcast(self, value: SSAValue, dtype: Element) -> SSAValue:
        return self.put(BitcastOp(value, _typed(dtype, [value]))).result

    def extract(self, tile: SSAValue, *coords: SSAValue) -> SSAValue:
        return self.put(ExtractOp(tile, coords)).result

    def mma(self, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
        return self.put(MmaOp(a, b, c)).result

    # storage

    def load(
        self,
        view: SSAValue,
        origin: Sequence[SSAValue],
        over: SpaceAttr,
        *,
        fill: SSAValue | None = None,
        mask: SSAValue | None = None,
        bounds: Bounds = Bounds.ZERO,
    ) -> SSAValue:
        kind = TileType(view_type(view).element, over)
        return self.put(LoadOp(view, origin, kind, fill=fill, mask=mask, bounds=bounds)).result

    def store(
        self,
        view: SSAValue,
        origin: Sequence[SSAValue],
        value: SSAValue,
        *,
        mask: SSAValue | None = None,
        bounds: Bounds = Bounds.ZERO,
    ) -> None:
        self.put(StoreOp(view, origin, value, mask=mask, bounds=bounds))

    def get(
        self,
        view: SSAValue,
        *index: SSAValue,
        where: SSAValue | None = None,
        fill: SSAValue | None = None,
    ) -> SSAValue:
        return self.put(LoadElementOp(view, index, predicate=where, fill=fill)).result

    def set(self, view: SSAValue, index: Sequence[SSAValue], value: SSAValue, where: SSAValue | None = None) -> None:
        self.put(StoreElementOp(view, index, value, predicate=where))

    def update(
        self,
        view: SSAValue,
        coords: Sequence[SSAValue],
        value: SSAValue,
        kind: UpdateKind = UpdateKind.ADD,
        mask: SSAValue | None = None,
    ) -> None:
        self.put(UpdateOp(view, coords, value, kind, mask=mask))

    def memory(self, dtype: Element, over: SpaceAttr) -> tuple[SSAValue, SSAValue]:
        op = self.put(MemoryAllocOp(MemoryType(element_attr(dtype), over)))
        return op.memory, op.state

    def memory_load(self, memory: SSAValue, state: SSAValue) -> SSAValue:
        return self.put(MemoryLoadOp(memory, state)).result

    def memory_store(self, memory: SSAValue, state: SSAValue, value: SSAValue) -> SSAValue:
        return self.put(MemoryStoreOp(memory, state, value)).result

    # regions

    def parallel(self, over: SpaceAttr) -> Any:
        return self._body(ParallelOp(over), over.rank)

    def serial(self, over: SpaceAttr, *inits: SSAValue) -> Any:
        return self._body(SerialOp(over, inits), over.rank)

    def pipeline(self, over: SpaceAttr, *inits: SSAValue, window: int = 0) -> Any:
        return self._body(PipelineOp(over, inits, window=window), over.rank)

    def reduce(self, over: SpaceAttr, *inits: SSAValue, policy: Policy = Policy.UNORDERED_TREE) -> Any:
        return self._body(ReduceOp(over, inits, policy=policy), over.rank)

    def map(self, dtype: Element, over: SpaceAttr) -> Any:
        return self._body(MapOp(TileType.of(dtype, over)), over.rank)

    def scan(
        self,
        tiles: Sequence[SSAValue],
        seeds: Sequence[SSAValue],
        dim: str,
        policy: Policy = Policy.UNORDERED_TREE,
        *,
        exclusive: bool = False,
        reverse: bool = False,
    ) -> Any:
        number = DimAttr.of(number_of(dim))
        return self._body(ScanOp(tiles, seeds, number, policy, exclusive=exclusive, reverse=reverse), 0)

    @contextmanager
    def _body(self, op: Any, rank: int) -> Generator[Body]:
        self.put(op)
        block = op.body.block
        body = Body(tuple(block.args[:rank]), tuple(block.args[rank:]), op.results)
        with self.builder.at(block):
            yield body
            self.put(YieldOp(body.yielded))

    # what the library expands to

    def fold(
        self, tile: SSAValue, axes: str, op: str, seed: object, policy: Policy = Policy.UNORDERED_TREE
    ) -> SSAValue:
        """`reduce(tile, axis, reducer)`: a map over the kept dimensions, a fold over the others."""
        own, dtype = space_of(tile), dtype_of(element_of(tile))
        gone = [DimAttr.of(number_of(name)) for name in axes]
        kept = SpaceAttr.of(axis for axis in own.axes if axis.dim not in gone)
        over = SpaceAttr.of(axis for axis in own.axes if axis.dim in gone)
        with self.map(dtype, kept) as outer:
            with self.reduce(over, self.const(seed, dtype), policy=policy) as inner:
                where = dict(zip((*kept.dims, *over.dims), (*outer.indices, *inner.indices), strict=True))
                item = self.extract(tile, *(where[dim] for dim in own.dims))
                (state,) = inner.carries
                pair = (item, state) if policy == Policy.FOLD_RIGHT else (state, item)
                inner.yields(self.do(op, *pair))
            outer.yields(inner.results[0])
        return outer.results[0]


def _view(view: View, number: int) -> Attribute:
    if view.shape is None:
        return element_attr(view.dtype)
    axes = SpaceAttr.of(AxisAttr.of(DimAttr.of(64 * number + i), extent) for i, extent in enumerate(view.shape))
    return ViewType.of(view.dtype, axes, compact_strides(view.shape), const=view.const)


def _typed(dtype: Element, operands: Sequence[SSAValue]) -> Any:
    """The highest-rank operand's space, larger extents winning over 1, then the dimensions it lacks."""
    axes: dict[DimAttr, AxisAttr] = {}
    for operand in sorted(operands, key=lambda one: -space_of(one).rank):
        for axis in space_of(operand).axes:
            if axis.dim not in axes or axes[axis.dim].extent == 1:
                axes[axis.dim] = axis
    tiles = any(isinstance(operand.type, TileType) for operand in operands)
    return TileType.of(dtype, SpaceAttr.of(axes.values())) if tiles else element_attr(dtype)


def _test_line() -> Span:
    return next(span for span in _chain(user_span()) if span.file != __file__)


def _chain(span: Span) -> Iterator[Span]:
    yield span
    yield from span.callers()
