"""The state of one lowering: builder, buffers, values of scalars, and the loops that are open around the insertion
point.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilewright.analysis.access import Limits
from tilewright.analysis.forms import Forms
from tilewright.analysis.limits import Limit
from tilewright.analysis.structure import Structure
from tilewright.bridge.xir.lower.coords import Coord, CoordMath
from tilewright.bridge.xir.plan import Plan
from tilewright.bridge.xir.records import NestPlan, Storage, stage_of
from tilewright.core.codes.internal import PLAN_BROKEN
from tilewright.core.dtypes import DType, by_name
from tilewright.core.errors import InternalError
from tilewright.ir.location import span_of
from tilewright.ir.ops.tiles import MmaOp
from tilewright.ir.types import DimAttr, element_attr
from tilewright.xir.builder import Loop, XirBuilder
from tilewright.xir.constants import width_of
from tilewright.xir.ops import AllocOp
from tilewright.xir.types import lanes_of

__all__ = ["Level", "Lowering", "Val", "register_type", "storage_type"]

Val = Coord | SSAValue
"""An i64 is a Coord; anything else is a value of XIR: a scalar when equal in all lanes, else a vector."""

_WIDE = {"f16": "f32", "bf16": "f32"}


def register_type(dtype: type[DType]) -> Attribute:
    """How a value of `dtype` is held: half types as f32 that are exactly representable, float8 types as their bits.

    Unsigned integers are signless.
    """
    if dtype.is_float and dtype.bits == 8:
        return IntegerType(8)
    return _signless(element_attr(by_name(_WIDE.get(dtype.name, dtype.name))))


def storage_type(dtype: type[DType]) -> Attribute:
    """How it lies in memory: booleans as one byte."""
    return IntegerType(8) if dtype.kind == "bool" else _signless(element_attr(dtype))


def _signless(kind: Attribute) -> Attribute:
    bits = width_of(kind)
    return IntegerType(bits) if bits else kind


@dataclass
class Level:
    """One open loop (or the start of a nest): values computed at this depth are remembered here.

    While a deeper loop is open, `inner` is its operation, and what belongs to this level is inserted before it.
    """

    loop: Operation | None = None
    memo: dict[object, Val] = field(default_factory=dict[object, Val])
    inner: Operation | None = None


@dataclass
class Lowering:
    """Everything that the rules share."""

    plan: Plan
    structure: Structure
    builder: XirBuilder
    kernel_block: Block
    buffers: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    scratch: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    env: dict[SSAValue, Val] = field(default_factory=dict[SSAValue, Val])
    levels: list[Level] = field(default_factory=lambda: [Level()])
    scope_number: int = 0
    scopes: int = 0
    width: int = 1
    sinks: dict[int, MmaOp] = field(default_factory=dict[int, MmaOp])
    operations: dict[int, Operation] = field(default_factory=dict[int, Operation])
    values: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    forms: Forms | None = None
    limits: Limits = field(default_factory=dict[DimAttr, Limit])
    bounds: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    sums: dict[SSAValue, Val] = field(default_factory=dict[SSAValue, Val])
    computing: frozenset[SSAValue] = frozenset()
    fusing: frozenset[SSAValue] = frozenset()
    shared: dict[tuple[int, bool], tuple[SSAValue, SSAValue]] = field(
        default_factory=dict[tuple[int, bool], tuple[SSAValue, SSAValue]]
    )
    active: int | SSAValue | None = None

    @property
    def math(self) -> CoordMath:
        return CoordMath(self.builder, self.width)

    @property
    def program_lanes(self) -> bool:
        return self.plan.is_program

    def depth_of(self, value: Val) -> int:
        """How deep in the open loops a value was made. A Coord lies where its base does."""
        owner = (value.base if isinstance(value, Coord) else value).owner
        op = owner if isinstance(owner, Operation) else owner.parent_op()
        while op is not None:
            for depth in range(len(self.levels) - 1, 0, -1):
                if self.levels[depth].loop is op:
                    return depth
            op = op.parent_op()
        return 0

    @contextmanager
    def at_depth(self, depth: int) -> Generator[Level]:
        """Insert among what belongs to an open level."""
        level = self.levels[depth]
        if level.inner is None:
            yield level
            return
        with self.builder.before(level.inner):
            yield level

    @contextmanager
    def loop(
        self, lower: SSAValue | int, upper: SSAValue | int, step: int = 1, carries: tuple[SSAValue, ...] = ()
    ) -> Generator[Loop]:
        """A counted loop whose index and carries are one level deeper."""
        with self.builder.for_(lower, upper, step, carries) as loop:
            outer = self.levels[-1]
            outer.inner = loop.op
            self.levels.append(Level(loop.op))
            try:
                yield loop
            finally:
                self.levels.pop()
                outer.inner = None

    @contextmanager
    def fresh(self, nest: NestPlan | None = None) -> Generator[None]:
        """The start of a nest: nothing remembered from before holds, since buffers may have changed."""
        outer = self.levels, self.width
        self.levels = [Level()]
        if nest is not None and not self.program_lanes:
            self.width = nest.width
        try:
            yield
        finally:
            self.levels, self.width = outer

    @contextmanager
    def body(self, width: int, sums: dict[SSAValue, Val], computed: SSAValue | None) -> Generator[None]:
        """Inside a body of a contraction: `sums` are values that are at hand, `computed` is the tile being computed."""
        outer = self.levels, self.width, self.sums
        self.levels, self.width, self.sums = [Level()], width, sums
        try:
            with self.bare(computed):
                yield
        finally:
            self.levels, self.width, self.sums = outer

    @contextmanager
    def bare(self, value: SSAValue | None) -> Generator[None]:
        """While a tile is computed into its buffer, its value is the computation, not the buffer."""
        outer = self.computing
        self.computing = outer if value is None else outer | {value}
        try:
            yield
        finally:
            self.computing = outer

    @contextmanager
    def fusing_at(self, position: int) -> Generator[None]:
        """While the fold at a position is computed, so are the tiles that the plan fuses into it."""
        fused = self.plan.decisions.fused
        found = [self.operations[op].results[0] for op, fold in fused.items() if fold == position]
        outer, self.fusing = self.fusing, frozenset(found)
        try:
            yield
        finally:
            self.fusing = outer

    def bound_of(self, dim: int, extent: int) -> SSAValue:
        """How far a loop over a dimension goes: to its extent, or to the end of what is seen in a partial last
        block.
        """
        return self.bounds.get(dim, self.builder.i64(extent))

    @contextmanager
    def scope(self, values: Mapping[SSAValue, Val]) -> Generator[None]:
        """A body is evaluated with these arguments: whatever depends on them is looked up anew."""
        outer = self.env, self.scope_number
        self.scopes += 1
        self.env, self.scope_number = {**self.env, **values}, self.scopes
        try:
            yield
        finally:
            self.env, self.scope_number = outer

    @contextmanager
    def lanes_active(self, count: int | SSAValue | None) -> Generator[None]:
        """Only the first `count` lanes exist (all of them for None)."""
        outer, self.active = self.active, count
        try:
            yield
        finally:
            self.active = outer

    @contextmanager
    def located(self, op: Operation) -> Generator[None]:
        """Stamp what is made with the place of a TileIR operation."""
        with self.builder.location(op.location):
            yield

    def vectorised(self, value: SSAValue, width: int) -> SSAValue:
        """The value in every lane."""
        return value if lanes_of(value.type) > 1 else self.builder.broadcast(value, width)

    def ssa(self, value: Val) -> SSAValue:
        """The value itself: a scalar when uniform, else a vector."""
        return self.math.value(value) if isinstance(value, Coord) else value

    def storage_of(self, value: SSAValue) -> Storage | None:
        """The buffer the plan gives a tile; None for an inline one."""
        place = self.plan.decisions.places.get(self.structure.numbers[value])
        return None if place is None or place.storage is None else self.plan.decisions.storages[place.storage]

    def memory_of(self, memory: SSAValue) -> Storage:
        """The buffer of a manual memory."""
        return self.plan.decisions.storages[self.structure.numbers[memory]]

    def required_storage(self, value: SSAValue) -> Storage:
        """The buffer of a tile that the plan must have kept."""
        storage = self.storage_of(value)
        if storage is None:
            raise InternalError(PLAN_BROKEN.at(span_of(value), what="a contraction reads a tile that has no buffer"))
        return storage

    def stage_for(self, home: Storage) -> Storage:
        """The buffer like `home` for values that wait until every yield is computed."""
        return self.plan.decisions.storages[stage_of(home.owner)]

    def allocate(self, storage: Storage) -> SSAValue:
        """Scratch at the top of the kernel; a row of lanes an element under program lanes."""
        factor = self.width if self.program_lanes else 1
        op = AllocOp(storage_type(by_name(storage.dtype)), storage.size * factor)
        op.location = self.builder.place
        first = self.kernel_block.first_op
        if first is None:
            self.kernel_block.add_op(op)
        else:
            self.kernel_block.insert_op_before(op, first)
        return op.buffer
