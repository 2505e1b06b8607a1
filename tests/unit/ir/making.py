"""Small modules by hand: a kernel with a few views, and shorthands for what tests put into it."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.core.dtypes import DType, f32, i64
from tilewright.core.source import Span
from tilewright.ir.builder import TileBuilder
from tilewright.ir.ops.regions import CarryingOp, KernelOp, ParallelOp, RegionOp, YieldOp
from tilewright.ir.ops.tiles import ConstantOp
from tilewright.ir.types import AxisAttr, DimAttr, SpaceAttr, TileType, ViewType, compact_strides, element_attr

OpT = TypeVar("OpT", bound=Operation)


def space(*axes: tuple[int, int]) -> SpaceAttr:
    """`space((0, 4), (1, 8))`: dimension 0 of extent 4, dimension 1 of extent 8."""
    return SpaceAttr.of(AxisAttr.of(DimAttr.of(dim), extent) for dim, extent in axes)


def tile(*axes: tuple[int, int], dtype: type[DType] = f32) -> TileType:
    return TileType.of(dtype, space(*axes))


def view(*axes: tuple[int, int], dtype: type[DType] = f32, const: bool = False) -> ViewType:
    shape = space(*axes)
    return ViewType.of(dtype, shape, compact_strides(shape.extents), const=const)


class Make:
    """Builds one kernel; every operation gets a line of its own in `made.py`."""

    def __init__(self, *parameters: Attribute, labels: dict[int, str] | None = None) -> None:
        kinds = parameters or (view((0, 16)),)
        self.kernel = KernelOp("k", [(f"p{index}", kind) for index, kind in enumerate(kinds)], labels)
        self.module = ModuleOp([self.kernel])
        self.build = TileBuilder(self.kernel.body.block)
        self._line = 0
        self.kernel.location = self.build.insert(YieldOp(), self._span()).location
        last = self.kernel.body.block.last_op
        if last is not None:
            last.detach()

    @property
    def args(self) -> Sequence[SSAValue]:
        return self.kernel.body.block.args

    def put(self, op: OpT) -> OpT:
        return self.build.insert(op, self._span())

    def const(self, bits: int = 0, dtype: type[DType] = i64) -> SSAValue:
        return self.put(ConstantOp(bits, element_attr(dtype))).result

    def splat(self, kind: TileType, bits: int = 0) -> SSAValue:
        return self.put(ConstantOp(bits, kind)).result

    @contextmanager
    def inside(self, op: Operation, *yields: SSAValue) -> Generator[None]:
        """Builds in the body of `op`; ends it with a yield of `yields` unless the body has one by then."""
        block = op.regions[0].block
        with self.build.at(block):
            yield
            if not isinstance(block.last_op, YieldOp):
                self.put(YieldOp(yields))

    @contextmanager
    def parallel(self, *axes: tuple[int, int], scope: str | None = None) -> Generator[ParallelOp]:
        op = self.put(ParallelOp(space(*axes), scope=scope))
        with self.inside(op):
            yield op

    @contextmanager
    def carrying(self, op: OpT) -> Generator[OpT]:
        """Builds in the body of a carrying region; carries pass through unless the body yields."""
        self.put(op)
        carries = op.carries if isinstance(op, CarryingOp) else ()
        with self.inside(op, *carries):
            yield op

    def region(self, op: RegionOp) -> None:
        """Puts a region with an empty body."""
        with self.carrying(op):
            pass

    def done(self) -> ModuleOp:
        """The module, with the kernel closed."""
        if not isinstance(self.kernel.body.block.last_op, YieldOp):
            self.put(YieldOp())
        return self.module

    def _span(self) -> Span:
        self._line += 1
        return Span("made.py", self._line, 1, self._line, 9, "k")
