"""The proof on TIRx that loops are one product: it reads nothing but the statements.

What every buffer of a program holds is followed from statement to statement: zeros, a block of an argument with zeros
outside, or a sum of products. In the end each element of C is stored once, and is the sum over all of K from zero.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tilewright.bridge.tirx.copies import coordinates_of, copy_of
from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.nodes import Buffer, Expr, Nodes, Stmt
from tilewright.bridge.tirx.providers.forms import Form, Forms
from tilewright.bridge.tirx.providers.proofs import Nest, Proofs

__all__ = ["objection_to_product"]

_LAZY, _FMA = "prim.if_then_else", "llvm.fma"
_PRODUCT, _ANY_ORDER = "tile.mma", 2
Limit = tuple[Form, int]
"""Something stays below a number."""


class _UnprovedError(Exception):
    """Leaves the proof with its reason."""


@dataclass(frozen=True, slots=True)
class _Block:
    """A buffer that holds argument[places] where all limits hold, and 0 elsewhere; `axes` are its coordinates."""

    argument: Buffer
    axes: tuple[Expr, ...]
    extents: tuple[int, ...]
    places: tuple[Form, ...]
    limits: frozenset[Limit]

    def at(self, coordinates: Sequence[Form]) -> "_Block":
        """The element at these coordinates."""
        return self.moved(dict(zip(self.axes, coordinates, strict=True)))

    def moved(self, places: Mapping[Expr, Form]) -> "_Block":
        """With forms in the place of variables."""
        moved = tuple(place.at(places) for place in self.places)
        return replace(self, places=moved, limits=frozenset((form.at(places), below) for form, below in self.limits))


@dataclass(frozen=True, slots=True)
class _Sum:
    """A buffer that holds a start and, if there is one, a sum of products over `summed`; `axes` are its coordinates.

    The start is 0, or what another buffer holds.
    """

    axes: tuple[Expr, ...]
    extents: tuple[int, ...]
    start: Buffer | None = None
    factors: tuple[_Block, _Block] | None = None
    summed: frozenset[Expr] = frozenset()


Content = _Block | _Sum


def objection_to_product(door: Door, function: Any, m: int, n: int, k: int) -> str:
    """Why the function, whose parameters are matrices of m x k, k x n and m x n, is not proved to be C = A B."""
    try:
        _Program(door, function.params, (m, n, k)).read(function.body)
    except _UnprovedError as error:
        return str(error)
    return ""


def _require(holds: object, reason: str) -> None:
    if not holds:
        raise _UnprovedError(reason)


class _Program:
    """The statements of all programs, read in order."""

    def __init__(self, door: Door, params: Sequence[Buffer], sizes: tuple[int, int, int]) -> None:
        self._door, self._t, self._ir = door, door.tirx, door.tvm.ir
        self._nodes, self._proofs, self._forms = Nodes(door), Proofs(door), Forms(door)
        self._a, self._b, self._c = params
        self._m, self._n, self._k = sizes
        self._holds: dict[Buffer, Content] = {}
        self._open: list[Expr] = []  # variables of the loops around what is read
        self._stored = False

    def read(self, body: Stmt) -> None:
        """Raises _UnprovedError for a function that is no product."""
        _require(isinstance(body, self._t.For), "it is no loop over programs")
        self._enter(body)
        self._open.append(body.loop_var)
        self._statements(body.body)
        _require(self._stored, "nothing is stored to C")

    def _enter(self, loop: Stmt) -> None:
        number = self._proofs.number
        plain = loop.kind == self._t.ForKind.SERIAL and number(loop.min) == 0 and loop.step is None
        extent = number(loop.extent) or 0
        _require(plain and extent > 0, "a loop does not run in order from 0")
        _require(self._forms.enter(loop.loop_var, extent), "two loops have one variable")

    def _statements(self, body: Stmt) -> None:
        t = self._t
        for each in body.seq if isinstance(body, t.SeqStmt) else [body]:
            _require(not self._stored, "something follows the stores to C")
            is_mark = isinstance(each, t.AttrStmt) and isinstance(each.body, t.Evaluate) and self._is_idle(each.body)
            if is_mark or isinstance(each, t.AllocBuffer) or self._forms.name(each):
                continue
            _require(isinstance(each, t.For), f"it holds a statement of another kind: {type(each).__name__}")
            self._loop(each)

    def _is_idle(self, evaluated: Stmt) -> bool:
        return isinstance(evaluated.value, self._t.IntImm)

    def _loop(self, loop: Stmt) -> None:
        nest = self._proofs.nest(loop)
        copy = copy_of(self._door, loop)
        if copy is not None and nest is not None:
            self._entered(nest)
            _require(_is_float(copy.buffer), "a buffer holds something else than float32")
            self._holds[copy.buffer] = self._copied(copy.value, copy.indices, copy.extents)
        elif nest is not None and _PRODUCT in loop.annotations:
            _require(int(loop.annotations[_PRODUCT]) == _ANY_ORDER, "the product keeps the order of its sum")
            self._product(nest)
        elif nest is not None and self._is_store(nest.statements):
            self._store(nest)
        else:
            self._trips(loop)

    def _entered(self, nest: Nest) -> None:
        for var, extent in zip(nest.indices, nest.extents, strict=True):
            _require(self._forms.enter(var, extent), "two loops have one variable")

    # ---- what a buffer holds

    def _copied(self, value: Expr, axes: tuple[Expr, ...], extents: tuple[int, ...]) -> Content:
        t = self._t
        if isinstance(value, t.FloatImm):
            _require(float(value.value) == 0, "a buffer begins at another number than 0")
            return _Sum(axes, extents)
        guard, load = self._guarded(value)
        _require(isinstance(load, self._ir.TensorLoad), "a buffer holds something else than an argument or a sum")
        if load.source in (self._a, self._b):
            places = tuple(self._form(each) for each in load.indices)
            return _Block(load.source, axes, extents, places, self._limits(guard))
        _require(guard is None, "a sum is masked")
        return self._held(load, axes, extents)

    def _held(self, load: Expr, axes: tuple[Expr, ...], extents: tuple[int, ...]) -> _Sum:
        """The sum that a buffer holds, read as a whole by loops over its own coordinates."""
        held = self._holds.get(load.source)
        if not isinstance(held, _Sum) or held.extents != extents:
            raise _UnprovedError("a sum is made of something else")
        _require(self._coordinates(load, extents) == self._itself(axes), "a sum is moved")
        return _renamed(held, axes, self._itself(axes))

    def _itself(self, axes: Sequence[Expr]) -> list[Form]:
        return [self._form(var) for var in axes]

    def _guarded(self, value: Expr) -> tuple[Expr | None, Expr]:
        if not isinstance(value, self._ir.Call) or str(value.op.name) != _LAZY:
            return None, value
        guard, load, fill = value.args
        zero = isinstance(fill, self._t.FloatImm) and float(fill.value) == 0
        _require(zero, "a block is padded with another number than 0")
        return guard, load

    def _limits(self, guard: Expr | None) -> frozenset[Limit]:
        t = self._t
        if guard is None:
            return frozenset()
        if isinstance(guard, t.And):
            return self._limits(guard.a) | self._limits(guard.b)
        bound = self._proofs.number(guard.b) if isinstance(guard, t.LT | t.GE) else None
        if bound is None:
            raise _UnprovedError("a mask is not a bound of an index")
        form = self._form(guard.a)
        if isinstance(guard, t.LT):
            return frozenset({(form, bound)})
        _require(bound == 0 and form.constant >= 0 and all(f > 0 for _, f in form.terms), "a mask has holes")
        return frozenset()

    def _form(self, index: Expr) -> Form:
        found = self._forms.of(index)
        if found is None:
            raise _UnprovedError("an index is no sum of loop variables")
        return found

    def _coordinates(self, load: Expr, extents: Sequence[int]) -> list[Form]:
        place = coordinates_of(self._door, load.indices[0], extents) if len(load.indices) == 1 else None
        if place is None:
            raise _UnprovedError("an element is read from a place of another form")
        return [self._form(each) for each in place]

    # ---- products and their sums

    def _product(self, nest: Nest) -> None:
        """Y[i] = start; for k: Y[i] = fma(a, b, Y[i]); or only the steps, onto what Y holds."""
        self._entered(nest)
        if len(nest.statements) == 1:
            self._grown(nest)
            return
        first, rest, *more = nest.statements
        loop = self._proofs.nest(rest)
        shape = not more and isinstance(first, self._t.BufferStore) and loop is not None and len(loop.statements) == 1
        if loop is None or not shape:
            raise _UnprovedError("a product is no chain of multiply-adds")
        self._entered(loop)
        start = self._start(first.value, nest)
        made = _Sum(nest.indices, nest.extents, start, summed=frozenset(loop.indices))
        self._steps(made, loop.statements[0], first.buffer, first.indices)

    def _grown(self, nest: Nest) -> None:
        """The outer loops go over the coordinates of the buffer, the others over what is summed."""
        step: Any = nest.statements[0]
        held = self._holds.get(step.buffer) if isinstance(step, self._t.BufferStore) else None
        if not isinstance(held, _Sum):
            raise _UnprovedError("a product is no chain of multiply-adds")
        rank = len(held.extents)
        _require(nest.extents[:rank] == held.extents and held.factors is None, "two products are added")
        made = _Sum(nest.indices[:rank], held.extents, held.start, summed=frozenset(nest.indices[rank:]))
        self._steps(made, step, step.buffer, step.indices)

    def _steps(self, made: _Sum, step: Any, buffer: Buffer, indices: Sequence[Expr]) -> None:
        """Of a sum whose factors are still to be read; `indices` is where each element lies."""
        _require(_is_float(buffer) and len(indices) == 1, "a product is no buffer of float32")
        at = coordinates_of(self._door, indices[0], made.extents)
        own = at is not None and [self._form(each) for each in at] == self._itself(made.axes)
        _require(own, "a product is stored at another place than its own")
        _require(isinstance(step, self._t.BufferStore), "a step is no multiply-add")
        self._holds[buffer] = replace(made, factors=self._factors(step, buffer, indices[0]))

    def _start(self, value: Expr, nest: Nest) -> Buffer | None:
        if isinstance(value, self._t.FloatImm):
            _require(float(value.value) == 0, "a sum begins at another number than 0")
            return None
        _require(isinstance(value, self._ir.TensorLoad), "a sum begins at something else than 0 or a sum")
        held = self._held(value, nest.indices, nest.extents)
        _require(held.factors is None, "two products are added")
        return held.start

    def _factors(self, step: Any, buffer: Buffer, cell: Expr) -> tuple[_Block, _Block]:
        call, same = step.value, self._door.ffi.structural_equal
        operands = list(call.args)[-3:] if isinstance(call, self._ir.Call) else []
        fused = len(operands) == 3 and same(call, self._nodes.intrinsic(_FMA, *operands))
        _require(fused and step.buffer.same_as(buffer) and same(step.indices[0], cell), "a step is no multiply-add")
        left, right, carried = operands
        held = isinstance(carried, self._ir.TensorLoad) and carried.source.same_as(buffer)
        _require(held and same(carried.indices[0], cell), "a step adds to something else")
        return self._factor(left), self._factor(right)

    def _factor(self, load: Expr) -> _Block:
        held = self._holds.get(load.source) if isinstance(load, self._ir.TensorLoad) else None
        if not isinstance(held, _Block):
            raise _UnprovedError("a factor is no block of an argument")
        place = self._coordinates(load, held.extents)
        for at, extent in zip(place, held.extents, strict=True):
            known = self._forms.counted(at)
            _require(known is not None and known[0] <= extent, "a factor is read outside of its block")
        return held.at(place)

    def _trips(self, loop: Stmt) -> None:
        """A loop over blocks of the sum: one buffer, which held zeros, holds the sum of all trips afterwards."""
        self._enter(loop)
        before = dict(self._holds)
        for buffer, held in before.items():
            if isinstance(held, _Sum):
                self._holds[buffer] = replace(held, start=buffer, factors=None, summed=frozenset())
        self._open.append(loop.loop_var)
        self._statements(loop.body)
        self._open.pop()
        _require(not self._stored, "C is stored to in every block of the sum")
        changed = {
            buffer: self._holds[buffer] for buffer in before if not _is_kept(buffer, self._holds[buffer], before)
        }
        _require(len(changed) == 1, "a loop carries something else than one sum")
        ((buffer, after),) = changed.items()
        was = before[buffer]
        grown = isinstance(after, _Sum) and after.start is not None and after.start.same_as(buffer) and after.factors
        _require(grown and isinstance(was, _Sum), "a loop carries something else than a sum")
        if isinstance(was, _Sum) and isinstance(after, _Sum):
            _require(was.start is None and was.factors is None, "the sum does not begin at zero")
            self._holds = {**before, buffer: replace(after, start=None, summed=after.summed | {loop.loop_var})}

    # ---- the result

    def _is_store(self, statements: Sequence[Stmt]) -> bool:
        t = self._t
        inner = statements[0].then_case if isinstance(statements[0], t.IfThenElse) else statements[0]
        return len(statements) == 1 and isinstance(inner, t.BufferStore) and bool(inner.buffer.same_as(self._c))

    def _store(self, nest: Nest) -> None:
        t = self._t
        _require(len(self._open) == 1, "C is stored to inside of another loop")
        self._entered(nest)
        statement: Any = nest.statements[0]
        guarded = isinstance(statement, t.IfThenElse)
        _require(not guarded or statement.else_case is None, "a store has an alternative")
        store: Any = statement.then_case if guarded else statement
        _require(isinstance(store.value, self._ir.TensorLoad), "something else than a sum is stored")
        total = self._held(store.value, nest.indices, nest.extents)
        rows, columns = (self._form(each) for each in store.indices)
        self._covers_once(rows, columns, nest)
        limits = self._limits(statement.condition if guarded else None)
        self._bounds(limits, ((rows, self._m), (columns, self._n)), "a store")
        self._is_product(total, rows, columns)
        self._stored = True

    def _covers_once(self, rows: Form, columns: Form, nest: Nest) -> None:
        """Every element of C is stored by one program and one trip of the nest."""
        counts = [self._forms.counted(form) for form in (rows, columns)]
        if counts[0] is None or counts[1] is None:
            raise _UnprovedError("tiles of C overlap, or leave gaps")
        (height, by), (width, by_others) = counts[0], counts[1]
        _require(height >= self._m and width >= self._n, "the tiles do not reach the end of C")
        moving = {var for var, n in zip(nest.indices, nest.extents, strict=True) if n > 1}
        programs = self._forms.parts_of(self._open[0])
        _require(not by & by_others and by | by_others == programs | moving, "programs repeat each other")

    def _bounds(self, limits: frozenset[Limit], axes: Sequence[Limit], what: str) -> None:
        """The limits are those of the matrix and no others, and none that is needed is missing."""
        _require(limits <= frozenset(axes), f"{what} is masked")
        for form, size in axes:
            known = self._forms.counted(form)
            inside = known is not None and known[0] <= size
            _require(inside or (form, size) in limits, f"{what} reaches out of its matrix")

    def _is_product(self, total: _Sum, rows: Form, columns: Form) -> None:
        """What is stored is the sum over all of K of A[row, k] B[k, column], from zero."""
        if total.factors is None or total.start is not None:
            raise _UnprovedError("what is stored is no sum of products from zero")
        a, b = total.factors if total.factors[0].argument.same_as(self._a) else total.factors[::-1]
        both = a.argument.same_as(self._a) and b.argument.same_as(self._b)
        _require(both, "the factors are not the first and the second argument")
        _require(a.places[0] == rows and b.places[1] == columns, "operands and result lie apart")
        inner = self._forms.counted(a.places[1])
        _require(a.places[1] == b.places[0] and inner is not None, "the operands begin at different places of the sum")
        if inner is not None:
            moving = frozenset(var for var in total.summed if self._forms.extents[var] > 1)
            _require(inner[0] >= self._k and inner[1] == moving, "the sum leaves out or repeats a part of K")
        self._bounds(a.limits, ((rows, self._m), (a.places[1], self._k)), "A")
        self._bounds(b.limits, ((b.places[0], self._k), (columns, self._n)), "B")


def _is_float(buffer: Buffer) -> bool:
    return str(buffer.dtype) == "float32"


def _is_kept(buffer: Buffer, held: Content, before: Mapping[Buffer, Content]) -> bool:
    """Whether a trip leaves a buffer as it was: a block of an argument, or a sum that is its own start."""
    if isinstance(held, _Sum):
        return held.factors is None and held.start is not None and bool(held.start.same_as(buffer))
    return held is before[buffer]


def _renamed(held: _Sum, axes: tuple[Expr, ...], forms: Sequence[Form]) -> _Sum:
    """The same sum under other names of its coordinates."""
    places = dict(zip(held.axes, forms, strict=True))
    factors = None if held.factors is None else (held.factors[0].moved(places), held.factors[1].moved(places))
    return replace(held, axes=axes, factors=factors)
