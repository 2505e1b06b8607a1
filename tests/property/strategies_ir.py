"""Random valid TileIR modules: regions, carries, maps, folds, scans, contractions, accesses, manual memory.

`recipes()` draws a recipe, a list of choices; `recipe.build()` makes the module, as often as wanted and with other
dimension numbers, names and places when asked.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.core.dtypes import ALL_DTYPES, DType, bf16, boolean, f16, f32, f64, i8, i32, i64, u32
from tilewright.core.source import Span
from tilewright.ir.attrs import Bounds, Policy, UpdateKind
from tilewright.ir.builder import TileBuilder
from tilewright.ir.dialect import ELEMENTWISE_OPS
from tilewright.ir.index_map import strided
from tilewright.ir.layout_attr import LayoutAttr
from tilewright.ir.ops.access import LoadElementOp, LoadOp, StoreElementOp, StoreOp, UpdateOp
from tilewright.ir.ops.convert import BitcastOp, CastOp, SelectOp
from tilewright.ir.ops.elementwise import AddOp, BinaryOp, CompareOp, PredicateOp, UnaryOp
from tilewright.ir.ops.memory import MemoryAllocOp, MemoryLoadOp, MemoryStoreOp
from tilewright.ir.ops.regions import (
    CarryingOp,
    KernelOp,
    ParallelOp,
    PipelineOp,
    ReduceOp,
    SerialOp,
    StageOp,
    WhenOp,
    YieldOp,
)
from tilewright.ir.ops.tiles import ConstantOp, ExtractOp, MapOp, MmaOp, ScanOp
from tilewright.ir.types import (
    BOOL,
    I64,
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
    is_element,
    is_tile,
    space_of,
    tile_type,
    view_type,
)

__all__ = ["Recipe", "examples", "modules", "recipes"]

T = TypeVar("T")
OpT = TypeVar("OpT", bound=Operation)
Pick = Callable[[int], int]

_DTYPES: tuple[type[DType], ...] = (f32, i64, boolean, f16, bf16, f64, i32, i8, u32)
_EXTENTS = (2, 1, 3, 4, 0)
_DIMS = 6
_NAMES = ("", "x", "acc", "row_1", "x")


@dataclass(frozen=True)
class Recipe:
    """The choices that make one module. Missing ones count as 0."""

    picks: tuple[int, ...]

    def build(self, *, first_dim: int = 0, decorated: bool = True) -> ModuleOp:
        """The module; without decoration it has no value names, dimension labels or places."""
        pending = iter(self.picks)
        return _Builder(lambda count: next(pending, 0) % count, first_dim, decorated=decorated).module()


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    """Recipes of valid modules."""
    picks: list[int] = []

    def pick(count: int) -> int:
        picks.append(draw(st.integers(0, count - 1)) if count > 1 else 0)
        return picks[-1]

    _Builder(pick, 0, decorated=True).module()
    return Recipe(tuple(picks))


def examples(count: int) -> settings:
    """So many examples; drawing one builds a whole module, which a busy machine may find slow."""
    return settings(max_examples=count, suppress_health_check=[HealthCheck.too_slow])


def modules() -> st.SearchStrategy[ModuleOp]:
    """Valid modules."""
    return recipes().map(Recipe.build)


@dataclass
class _Scope:
    """What may be used at one point of the program."""

    values: list[SSAValue] = field(default_factory=list[SSAValue])
    views: list[SSAValue] = field(default_factory=list[SSAValue])
    states: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])  # memories that may be stored to
    stored: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])  # memories that may be loaded
    instance: SSAValue | None = None  # a number that differs between the parallel instances
    pure: bool = False

    def inner(self) -> "_Scope":
        return _Scope(list(self.values), self.views, {}, dict(self.stored), self.instance, self.pure)


class _Builder:
    def __init__(self, pick: Pick, first_dim: int, *, decorated: bool) -> None:
        self._pick = pick
        self._first_dim = first_dim
        self._decorated = decorated
        self._line = 0
        self._budget = 24
        self._statements: tuple[Callable[[_Scope], None], ...] = (
            self._constant, self._unary, self._binary, self._choice, self._conversion, self._bits, self._load,
            self._store, self._load_element, self._store_element, self._update, self._map, self._extract, self._mma,
            self._scan, self._loop, self._parallel, self._alloc, self._memory_store, self._memory_load,
        )  # fmt: skip

    def module(self) -> ModuleOp:
        views = [self._view() for _ in range(1 + self._pick(3))]
        labels = {self._first_dim + k: f"d{k % 3}" for k in range(_DIMS)} if self._decorated else {}
        kernel = KernelOp("k", [(f"p{index}", kind) for index, kind in enumerate(views)], labels)
        self._build = TileBuilder(kernel.body.block)
        scope = _Scope(views=list(kernel.body.block.args))
        self._constant(scope)
        self._binary(scope)
        for _ in range(1 + self._pick(2)):
            self._parallel(scope)
        self._put(YieldOp())
        return ModuleOp([kernel])

    # ------------------------------------------------------------------------------------------------------ plumbing

    def _put(self, op: OpT) -> OpT:
        self._line += 1
        span = Span("made.py", self._line, 5, self._line, 9, "k", Span("main.py", 1, 1, 1, 4))
        if not self._decorated:
            self._build.block.add_op(op)
            return op
        for result in op.results:
            result.name_hint = _NAMES[self._line % len(_NAMES)] or None
        return self._build.insert(op, span)

    def _of(self, options: Sequence[T]) -> T:
        return options[self._pick(len(options))]

    def _define(self, scope: _Scope, op: Operation) -> None:
        self._put(op)
        scope.values += op.results

    @contextmanager
    def _body(self, op: Operation) -> Generator[None]:
        with self._build.at(op.regions[0].block):
            yield

    def _statement(self, scope: _Scope, depth: int = 3) -> None:
        if self._budget > 0:
            self._budget -= 1
            self._of(self._statements[: len(self._statements) if depth else 5])(scope)

    def _some(self, scope: _Scope) -> None:
        for _ in range(self._pick(4)):
            self._statement(scope)

    # --------------------------------------------------------------------------------------------------------- types

    def _space(self, rank: int | None = None) -> SpaceAttr:
        rank = self._pick(3) if rank is None else rank
        start = self._pick(_DIMS)
        dims = [DimAttr.of(self._first_dim + (start + k) % _DIMS) for k in range(rank)]
        return SpaceAttr.of(AxisAttr.of(dim, self._of(_EXTENTS)) for dim in dims)

    def _view(self) -> ViewType:
        space = self._space()
        return ViewType.of(self._of(_DTYPES), space, compact_strides(space.extents), const=bool(self._pick(2)))

    # --------------------------------------------------------------------------------------------------------- values

    def _number(self, kind: Attribute) -> SSAValue:
        """A fresh constant of a scalar or tile type."""
        element = kind.element if isinstance(kind, TileType) else kind
        bits = self._pick(1 << min(dtype_of(element).bits, 16))
        return self._put(ConstantOp(bits, kind)).result

    def _value(self, scope: _Scope, accepts: Callable[[SSAValue], bool], fallback: Attribute) -> SSAValue:
        fitting = [value for value in scope.values if accepts(value)]
        return self._of(fitting) if fitting else self._number(fallback)

    def _scalar(self, scope: _Scope, element: Attribute) -> SSAValue:
        return self._value(scope, lambda value: value.type == element, element)

    def _tile(self, scope: _Scope, dtype: type[DType] = f32) -> SSAValue:
        return self._value(scope, is_tile, TileType.of(dtype, self._space()))

    def _constant(self, scope: _Scope) -> None:
        element = element_attr(self._of(_DTYPES if self._pick(2) else ALL_DTYPES))
        kind = TileType(element, self._space()) if self._pick(2) else element
        scope.values.append(self._number(kind))

    def _unary(self, scope: _Scope) -> None:
        kind = self._of([op for op in ELEMENTWISE_OPS if issubclass(op, UnaryOp)])
        operand = self._value(scope, lambda value: _accepts(kind, value), element_attr(_first_accepted(kind)))
        self._define(scope, kind(operand, _shaped(operand, BOOL if issubclass(kind, PredicateOp) else None)))

    def _binary(self, scope: _Scope) -> None:
        kind = self._of([op for op in ELEMENTWISE_OPS if issubclass(op, BinaryOp)])
        lhs = self._value(scope, lambda value: _accepts(kind, value), element_attr(_first_accepted(kind)))
        element = element_of(lhs)
        rhs = lhs if self._pick(2) else self._scalar(scope, element)
        self._define(scope, kind(lhs, rhs, _shaped(lhs, BOOL if issubclass(kind, CompareOp) else None)))

    def _choice(self, scope: _Scope) -> None:
        arm = self._value(scope, _is_number, I64)
        self._define(scope, SelectOp(self._scalar(scope, BOOL), arm, arm, arm.type))

    def _conversion(self, scope: _Scope) -> None:
        operand = self._value(scope, _is_number, I64)
        target = element_attr(self._of(_DTYPES))
        self._define(scope, CastOp(operand, _shaped(operand, target), saturating=bool(self._pick(2))))

    def _bits(self, scope: _Scope) -> None:
        operand = self._value(scope, lambda value: _accepts(AddOp, value), I64)
        width = dtype_of(element_of(operand)).bits
        alike = [dtype for dtype in ALL_DTYPES if dtype.bits == width and dtype is not boolean]
        self._define(scope, BitcastOp(operand, _shaped(operand, element_attr(self._of(alike)))))

    # --------------------------------------------------------------------------------------------------------- access

    def _load(self, scope: _Scope) -> None:
        if scope.pure:
            return
        view = self._of(scope.views)
        kind = view_type(view)
        result = TileType(kind.element, self._space(kind.space.rank))
        origin = [self._scalar(scope, I64) for _ in kind.space.axes]
        fill = self._scalar(scope, kind.element) if self._pick(2) else None
        mask = self._scalar(scope, BOOL) if self._pick(2) else None
        self._define(scope, LoadOp(view, origin, result, fill=fill, mask=mask, bounds=self._of(list(Bounds))))

    def _store(self, scope: _Scope) -> None:
        view = self._written(scope)
        if view is not None:
            kind = view_type(view)
            tile = TileType(kind.element, self._space(kind.space.rank))
            value = self._value(scope, lambda value: value.type == tile, tile)
            self._put(StoreOp(view, self._apart(scope, kind), value, bounds=self._of(list(Bounds))))

    def _load_element(self, scope: _Scope) -> None:
        if scope.pure:
            return
        view = self._of(scope.views)
        kind = view_type(view)
        index = [self._scalar(scope, I64) for _ in kind.space.axes]
        if self._pick(2):
            self._define(scope, LoadElementOp(view, index))
            return
        predicate, fill = self._scalar(scope, BOOL), self._scalar(scope, kind.element)
        self._define(scope, LoadElementOp(view, index, predicate=predicate, fill=fill))

    def _store_element(self, scope: _Scope) -> None:
        view = self._written(scope)
        if view is not None:
            kind = view_type(view)
            self._put(StoreElementOp(view, self._apart(scope, kind), self._scalar(scope, kind.element)))

    def _update(self, scope: _Scope) -> None:
        views = [view for view in scope.views if not view_type(view).is_const and _is_updatable(view)]
        if views and not scope.pure:
            view = self._of(views)
            kind = view_type(view)
            coords = [self._scalar(scope, I64) for _ in kind.space.axes]
            value = self._number(TileType(kind.element, self._space()))
            self._put(UpdateOp(view, coords, value, self._of(list(UpdateKind))))

    def _written(self, scope: _Scope) -> SSAValue | None:
        """A view to store to where every instance can write a place of its own."""
        views = [view for view in scope.views if not view_type(view).is_const and view_type(view).space.rank]
        return self._of(views) if views and not scope.pure and scope.instance is not None else None

    def _apart(self, scope: _Scope, kind: ViewType) -> list[SSAValue]:
        assert scope.instance is not None
        return [scope.instance, *(self._scalar(scope, I64) for _ in kind.space.axes[1:])]

    # ---------------------------------------------------------------------------------------------------------- tiles

    def _map(self, scope: _Scope) -> None:
        op = MapOp(TileType.of(self._of(_DTYPES), self._space()))
        inner = scope.inner()
        inner.pure = True
        inner.values += op.body.block.args
        self._put(op)
        with self._body(op):
            self._some(inner)
            self._put(YieldOp([self._scalar(inner, tile_type(op.result).element)]))
        scope.values.append(op.result)

    def _extract(self, scope: _Scope) -> None:
        tile = self._tile(scope)
        self._define(scope, ExtractOp(tile, [self._scalar(scope, I64) for _ in tile_type(tile).space.axes]))

    def _mma(self, scope: _Scope) -> None:
        m, n, k = self._space(3).axes
        kinds = (f16, f32), (f32, f32), (f64, f64), (i8, i32)
        narrow, wide = self._of(kinds)
        a = self._number(TileType.of(narrow, SpaceAttr.of([m, k])))
        b = self._number(TileType.of(narrow, SpaceAttr.of([k, n])))
        c = self._number(TileType.of(wide, SpaceAttr.of([m, n])))
        self._define(scope, MmaOp(a, b, c, reassociate=bool(self._pick(2)), atoms=bool(self._pick(2))))

    def _scan(self, scope: _Scope) -> None:
        tile = self._number(TileType.of(self._of(_DTYPES), self._space(1 + self._pick(2))))
        dim = self._of(tile_type(tile).space.dims)
        seed = self._scalar(scope, element_of(tile))
        exclusive, reverse = bool(self._pick(2)), bool(self._pick(2))
        op = self._put(ScanOp([tile], [seed], dim, self._of(list(Policy)), exclusive=exclusive, reverse=reverse))
        inner = scope.inner()
        inner.pure = True
        inner.values += op.body.block.args
        with self._body(op):
            self._some(inner)
            self._put(YieldOp([self._scalar(inner, element_of(tile))]))
        scope.values += op.results

    # -------------------------------------------------------------------------------------------------------- regions

    def _loop(self, scope: _Scope) -> None:
        inits = [self._of(scope.values) for _ in range(self._pick(3)) if scope.values]
        carried = list(scope.states)[: self._pick(2)] if not scope.pure else []
        op = self._region([*inits, *(scope.states[memory] for memory in carried)])
        inner = scope.inner()
        inner.values += [*op.indices, *op.carries[: len(inits)]]
        states = op.carries[len(inits) :]
        inner.stored = {memory: state for memory, state in scope.stored.items() if memory not in carried}
        inner.states = dict(zip(carried, states, strict=True))
        inner.stored |= {memory: inner.states[memory] for memory in carried if memory in scope.stored}
        with self._body(op):
            if isinstance(op, PipelineOp) and self._pick(2):
                self._put(StageOp("load"))
            if not (scope.pure or carried) and self._pick(2):
                self._put(WhenOp(self._number(BOOL)))
            self._some(inner)
            nexts = [self._next(inner, init) for init in inits]
            self._put(YieldOp([*nexts, *(inner.states[memory] for memory in carried)]))
        scope.values += op.results[: len(inits)]
        for memory, state in zip(carried, op.results[len(inits) :], strict=True):
            scope.states[memory] = state
            if memory in scope.stored or (op.space.volume and memory in inner.stored):
                scope.stored[memory] = state

    def _next(self, scope: _Scope, init: SSAValue) -> SSAValue:
        return self._value(scope, lambda value: value.type == init.type, init.type)

    def _region(self, inits: Sequence[SSAValue]) -> CarryingOp:
        space = self._space()
        match self._pick(3):
            case 0:
                return self._put(SerialOp(space, inits))
            case 1:
                return self._put(PipelineOp(space, inits, window=self._pick(3), interval=1 + self._pick(2)))
            case _:
                return self._put(ReduceOp(space, inits, policy=self._of(list(Policy))))

    def _parallel(self, scope: _Scope) -> None:
        if scope.pure:
            return
        op = self._put(ParallelOp(self._space(), scope=self._of([None, "worker"])))
        inner = scope.inner()
        inner.values += op.indices
        with self._body(op):
            # One number that depends on every index, so that a store at it is no race that the verifier can see.
            for index in op.indices:
                known = inner.instance
                inner.instance = index if known is None else self._put(AddOp(known, index, I64)).result
            inner.instance = self._number(I64) if inner.instance is None else inner.instance
            for _ in range(1 + self._pick(5)):
                self._statement(inner)
            self._put(YieldOp())

    # --------------------------------------------------------------------------------------------------------- memory

    def _alloc(self, scope: _Scope) -> None:
        if scope.pure:
            return
        space = self._space()
        layout = None
        if self._pick(2):
            storage = DimAttr.of(self._first_dim + _DIMS)
            layout = LayoutAttr.of(strided(space, storage, compact_strides(space.extents)))
        resource = self._of([None, "shared"])
        op = self._put(MemoryAllocOp(MemoryType(element_attr(f32), space), resource=resource, layout=layout))
        scope.states[op.memory] = op.state

    def _memory_store(self, scope: _Scope) -> None:
        if scope.states and not scope.pure:
            memory = self._of(list(scope.states))
            kind = memory.type
            assert isinstance(kind, MemoryType)
            value = self._number(TileType(kind.element, kind.space))
            state = self._put(MemoryStoreOp(memory, scope.states[memory], value)).result
            scope.states[memory] = scope.stored[memory] = state

    def _memory_load(self, scope: _Scope) -> None:
        if scope.stored and not scope.pure:
            memory = self._of(list(scope.stored))
            self._define(scope, MemoryLoadOp(memory, scope.stored[memory]))


def _is_number(value: SSAValue) -> bool:
    return is_tile(value) or is_element(value.type)


def _accepts(kind: type[UnaryOp | BinaryOp], value: SSAValue) -> bool:
    if not _is_number(value):
        return False
    dtype = dtype_of(element_of(value))
    return kind.accepts(dtype) and not (dtype.is_float and dtype.bits == 8)


def _first_accepted(kind: type[UnaryOp | BinaryOp]) -> type[DType]:
    return next(dtype for dtype in _DTYPES if kind.accepts(dtype))


def _is_updatable(view: SSAValue) -> bool:
    return dtype_of(view_type(view).element).kind != "bool"


def _shaped(value: SSAValue, element: Attribute | None) -> Attribute:
    """The type of `value` with another element type."""
    element = element_of(value) if element is None else element
    return TileType(element, space_of(value)) if is_tile(value) else element
