"""The state of one export: where statements go, and what every value of TileIR has become."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from tilewright.bridge.tirx.export.representation import local
from tilewright.bridge.tirx.nodes import Buffer, Expr, Nodes, Stmt
from tilewright.bridge.tirx.sharing import Sharing
from tilewright.core.codes.unsupported import OP_NOT_ON_ROUTE
from tilewright.core.dtypes import DType
from tilewright.core.errors import UnsupportedError, blame
from tilewright.ir.location import span_of
from tilewright.ir.ops.regions import WhenOp, YieldOp
from tilewright.ir.types import DimAttr, SpaceAttr, compact_strides

__all__ = ["NO_NOTES", "ROUTE", "Exporter", "Notes", "Point", "Rule", "Stored", "Tile"]

ROUTE = "tirx"

Notes = Mapping[str, object]
NO_NOTES: Notes = MappingProxyType({})
Point = Mapping[DimAttr, Expr]
"""A coordinate along each dimension that a tile may have."""


Rule = Callable[["Exporter", Any], None]
"""Emits one operation and enters what its results have become."""


def _ignore(_values: Sequence[SSAValue]) -> None:
    """Of a body that yields nothing."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A buffer of our own that holds a scalar or tile, flat; `cell` finds the element at a point."""

    buffer: Buffer
    dtype: type[DType]
    space: SpaceAttr
    cell: Callable[[Point], Expr]


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile as its elements: `at` is the value at a point. What is not stored is computed anew each time."""

    at: Callable[[Point], Expr]
    stored: Stored | None = None


@dataclass
class _Body:
    """Statements of one block: allocations first, so that whatever follows may use them."""

    allocations: list[Stmt] = field(default_factory=list[Stmt])
    statements: list[Stmt] = field(default_factory=list[Stmt])


@dataclass
class Exporter:
    """Everything that the rules share."""

    n: Nodes
    sharing: Sharing
    rules: Mapping[type[Operation], Rule]
    buffers: dict[SSAValue, Buffer] = field(default_factory=dict[SSAValue, Buffer])
    scalars: dict[SSAValue, Expr] = field(default_factory=dict[SSAValue, Expr])
    tiles: dict[SSAValue, Tile] = field(default_factory=dict[SSAValue, Tile])
    memories: dict[SSAValue, Stored] = field(default_factory=dict[SSAValue, Stored])
    symbols: set[str] = field(default_factory=set[str])
    counters: dict[str, int] = field(default_factory=dict[str, int])
    _bodies: list[_Body] = field(default_factory=lambda: [_Body()])
    _cells: set[str] = field(default_factory=set[str])
    _names: int = 0

    def count(self, what: str, by: int = 1) -> None:
        """Adds to a counter of the report."""
        self.counters[what] = self.counters.get(what, 0) + by

    def name(self, prefix: str) -> str:
        """A name that no other node of this function has."""
        self._names += 1
        return f"{prefix}{self._names}"

    def run(self, block: Block, finish: Callable[[Sequence[SSAValue]], None] = _ignore) -> None:
        """Every operation of a block, then `finish` on what it yields: all of it under the condition of an early end.

        Raises UnsupportedError (TW423) for an operation without a rule.
        """
        with ExitStack() as conditions:
            for op in block.ops:
                if isinstance(op, YieldOp):
                    finish(op.values)
                elif isinstance(op, WhenOp):
                    conditions.enter_context(self.guarded(self.element(op.condition, {})))
                else:
                    self._export(op)

    def _export(self, op: Operation) -> None:
        rule = self.rules.get(type(op))
        if rule is None:
            raise UnsupportedError(OP_NOT_ON_ROUTE.at(span_of(op), op=op.name, route=ROUTE))
        with blame(span_of(op)):
            rule(self, op)

    # ---- statements

    def emit(self, statement: Stmt) -> None:
        """The next statement of the current block."""
        self._bodies[-1].statements.append(statement)

    def once(self, value: Expr) -> Expr:
        """The value in a cell of its own, so that it is computed once however often it is used.

        A `Bind` would do the same, but TVM's analyzer puts the values of bound names into each other: a chain of
        values that are each used twice would take exponential time. See `bind`.
        """
        if self.n.is_leaf(value) or self.n.source_name(value) in self._cells:
            return value
        kind = self.n.dtype(value)
        name = self.name("x")
        stored = "uint8" if kind == "bool" else kind
        buffer = self.n.buffer(name, stored, [1], alignment=self.n.itemsize(stored))
        self._bodies[-1].allocations.append(self.n.allocate(buffer, NO_NOTES))
        self._cells.add(name)
        self.emit(self.n.store(buffer, self.n.as_byte(value), [self.n.i64(0)]))
        raw = self.n.load(buffer, [self.n.i64(0)])
        return raw if kind != "bool" else self.n.ne(raw, self.n.int_("uint8", 0))

    def bind(self, value: Expr) -> Expr:
        """An index under a name: for values that are made of few others."""
        if self.n.is_leaf(value):
            return value
        var = self.n.var(self.name("v"), self.n.dtype(value))
        self.emit(self.n.bind(var, value))
        return var

    @contextmanager
    def block(self) -> Generator[Callable[[], Stmt]]:
        """Statements emitted inside are not those of the block around; what is yielded makes one statement of them."""
        body = _Body()
        self._bodies.append(body)
        try:
            yield lambda: self.n.sequence([*body.allocations, *body.statements])
        finally:
            self._bodies.pop()

    @contextmanager
    def loop(self, extent: int, name: str = "i", notes: Notes = NO_NOTES) -> Generator[Expr]:
        """An ordered loop around what is emitted inside; its index."""
        index = self.n.var(self.name(name), "int64")
        with self.block() as made:
            yield index
        self.emit(self.n.for_(index, extent, made(), notes))

    @contextmanager
    def guarded(self, condition: Expr | None) -> Generator[None]:
        """What is emitted inside happens where the condition holds."""
        if condition is None:
            yield
            return
        with self.block() as made:
            yield
        self.emit(self.n.if_(condition, made()))

    @contextmanager
    def nest(self, space: SpaceAttr, name: str = "e", notes: Notes = NO_NOTES) -> Generator[tuple[Expr, ...]]:
        """Loops over a space, one an axis, the notes on the outermost; their indices."""
        if not space.rank:
            yield ()
            return
        first, rest = space.axes[0], SpaceAttr.of(space.axes[1:])
        with self.loop(first.extent, name, notes) as index, self.nest(rest, name) as inner:
            yield (index, *inner)

    # ---- buffers of our own

    def allocate(
        self, dtype: type[DType], space: SpaceAttr, name: str = "t", notes: Notes = NO_NOTES, scope: str = "local"
    ) -> Stored:
        """A buffer for the elements of a space, row by row, allocated at the head of the current block.

        A scalar has the default scope, in which TVM keeps it on the stack and LLVM in a register.
        """
        strides = compact_strides(space.extents)

        def cell(point: Point) -> Expr:
            return self.linear(self.coordinates(space, point), strides)

        return self.allocate_cells(dtype, space, space.volume, cell, name, notes, scope if space.rank else "")

    def allocate_cells(
        self,
        dtype: type[DType],
        space: SpaceAttr,
        size: int,
        cell: Callable[[Point], Expr],
        name: str,
        notes: Notes,
        scope: str,
    ) -> Stored:
        """A buffer of `size` cells in which `cell` finds the element at a point."""
        kind = local(dtype)
        buffer = self.n.buffer(self.name(name), kind, [size], alignment=self.n.itemsize(kind), scope=scope)
        self._bodies[-1].allocations.append(self.n.allocate(buffer, notes))
        return Stored(buffer, dtype, space, cell)

    def read(self, stored: Stored, point: Point) -> Expr:
        """The element of a buffer of our own."""
        raw = self.n.load(stored.buffer, [stored.cell(point)])
        return self.n.ne(raw, self.n.int_("uint8", 0)) if stored.dtype.kind == "bool" else raw

    def write(self, stored: Stored, point: Point, value: Expr) -> None:
        """Puts an element into a buffer of our own."""
        self.emit(self.n.store(stored.buffer, self.n.as_byte(value), [stored.cell(point)]))

    def linear(self, indices: Sequence[Expr], strides: Sequence[int]) -> Expr:
        """The sum of indices times strides, which fits: it addresses memory that there is."""
        total: Expr | None = None
        for index, stride in zip(indices, strides, strict=True):
            term = index if stride == 1 else self.n.mul(index, self.n.i64(stride))
            total = term if total is None else self.n.add(total, term)
        return self.n.i64(0) if total is None else total

    # ---- values

    def coordinates(self, space: SpaceAttr, point: Point) -> list[Expr]:
        """The coordinates of a tile of this space; one of extent 1 along a dimension repeats along it."""
        return [self.n.i64(0) if axis.extent == 1 else point[axis.dim] for axis in space.axes]

    def tile_of(self, stored: Stored) -> Tile:
        """The tile that a buffer holds."""
        return Tile(lambda point: self.read(stored, point), stored)

    def element(self, value: SSAValue, point: Point) -> Expr:
        """A tile at a point, or a scalar anywhere."""
        scalar = self.scalars.get(value)
        return self.tiles[value].at(point) if scalar is None else scalar
