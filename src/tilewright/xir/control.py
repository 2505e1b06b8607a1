"""Loops, branches, calls and memory: the part of the builder that has effects."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from types import MappingProxyType

from xdsl.dialects import scf
from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, i32
from xdsl.ir import Attribute, Block, Region, SSAValue

from tilewright.core.codes.internal import XIR_MISUSE
from tilewright.core.errors import InternalError
from tilewright.xir import address_ops, ops
from tilewright.xir.constants import known_int
from tilewright.xir.insertion import Insertion
from tilewright.xir.location import span_of
from tilewright.xir.types import I64, buffer_type, lanes_of, vector_of

__all__ = ["Branch", "ControlBuilder", "Index", "Loop"]

Index = SSAValue | int

_STREAMING: Mapping[str, Attribute] = MappingProxyType({"streaming": BoolAttr.from_bool(True)})
_CACHED: Mapping[str, Attribute] = MappingProxyType({"streaming": BoolAttr.from_bool(False)})


class _Body:
    """A body that must be ended by `yield_` exactly once, unless it carries nothing."""

    def __init__(self, builder: Insertion, op: scf.ForOp | scf.IfOp, arity: int) -> None:
        self._builder, self._op, self._arity = builder, op, arity
        self._open = True

    def yield_(self, values: Sequence[SSAValue] = ()) -> None:
        """Ends the body with the values of the next trip or of the branch."""
        if not self._open or len(values) != self._arity:
            what = f"{self._op.name} yields {len(values)} values, expected {self._arity} once"
            raise InternalError(XIR_MISUSE.at(span_of(self._op), what=what))
        self._builder.insert(scf.YieldOp.create(operands=values))
        self._open = False

    def close(self) -> None:
        """Ends a body that carries nothing and was not ended by hand."""
        if self._open:
            self.yield_()

    @property
    def results(self) -> tuple[SSAValue, ...]:
        """The values after the operation; they may be used behind it only."""
        return tuple(self._op.results)


class Loop(_Body):
    """The inside of a `scf.for`."""

    def __init__(self, builder: Insertion, op: scf.ForOp) -> None:
        super().__init__(builder, op, len(op.results))
        self.op = op
        self.index: SSAValue = op.body.block.args[0]
        self.carries: tuple[SSAValue, ...] = tuple(op.body.block.args[1:])


class Branch(_Body):
    """The inside of one arm of a `scf.if`; `orelse` opens the other."""

    def __init__(self, builder: Insertion, op: scf.IfOp) -> None:
        super().__init__(builder, op, len(op.results))
        self.op = op

    @contextmanager
    def orelse(self) -> Generator["Branch"]:
        """The other arm, after the first one is closed."""
        if not self.op.false_region.blocks:
            self.op.false_region.add_block(Block())
        arm = Branch(self._builder, self.op)
        with self._builder.at(self.op.false_region.block):
            yield arm
            arm.close()


class ControlBuilder(Insertion):
    """Structured control flow and memory."""

    def index(self, value: Index) -> SSAValue:
        """An index as a value: Python integers become constants."""
        return self.i64(value) if isinstance(value, int) else value

    @contextmanager
    def for_(self, lb: Index, ub: Index, step: Index = 1, carries: Sequence[SSAValue] = ()) -> Generator[Loop]:
        """A counted loop with simultaneous `carries`. End its body with `loop.yield_`; then use `loop.results`."""
        kinds = [carry.type for carry in carries]
        op = scf.ForOp.create(
            operands=[self.index(lb), self.index(ub), self.index(step), *carries],
            result_types=kinds,
            regions=[Region(Block(arg_types=[I64, *kinds]))],
        )
        loop = Loop(self, self.insert(op))
        with self.at(op.body.block):
            yield loop
            loop.close()

    @contextmanager
    def if_(self, cond: SSAValue, results: Sequence[Attribute] = ()) -> Generator[Branch]:
        """Guarded code. With `results` both arms must be written and yield them."""
        op = scf.IfOp.create(operands=[cond], result_types=results, regions=[Region(Block()), Region()])
        branch = Branch(self, self.insert(op))
        with self.at(op.true_region.block):
            yield branch
            branch.close()

    def call(
        self, callee: str, arguments: Sequence[SSAValue], results: Sequence[Attribute] = ()
    ) -> tuple[SSAValue, ...]:
        return tuple(self.insert(ops.CallOp(callee, arguments, results)).results)

    def return_(self, values: Sequence[SSAValue] = ()) -> None:
        self.insert(ops.ReturnOp(values))

    def alloc(self, element: Attribute, extent: int, space: str = "scratch") -> SSAValue:
        """Worker-private storage; only at the top level of a kernel."""
        return self.insert(ops.AllocOp(element, extent, space)).results[0]

    def load(
        self,
        buffer: SSAValue,
        index: Index,
        lanes: int = 1,
        *,
        mask: SSAValue | None = None,
        passthru: SSAValue | None = None,
    ) -> SSAValue:
        """`lanes` consecutive elements; masked-off lanes give `passthru` (zero without one)."""
        return self._read(ops.LoadOp, buffer, self.index(index), lanes, mask, passthru)

    def store(
        self, value: SSAValue, buffer: SSAValue, index: Index, *, mask: SSAValue | None = None, streaming: bool = False
    ) -> None:
        """A scalar, or a vector to consecutive elements."""
        self._write(ops.StoreOp, [value, buffer, self.index(index)], mask, _STREAMING if streaming else _CACHED)

    def gather(
        self, buffer: SSAValue, indices: SSAValue, *, mask: SSAValue | None = None, passthru: SSAValue | None = None
    ) -> SSAValue:
        """The elements at `indices`, one a lane."""
        return self._read(ops.GatherOp, buffer, indices, lanes_of(indices.type), mask, passthru)

    def scatter(self, value: SSAValue, buffer: SSAValue, indices: SSAValue, *, mask: SSAValue | None = None) -> None:
        """Lane values to `indices`, in lane order."""
        self._write(ops.ScatterOp, [value, buffer, indices], mask, {})

    def atomic(self, kind: str, buffer: SSAValue, index: Index, value: SSAValue) -> None:
        self.insert(ops.AtomicOp(kind, buffer, self.index(index), value))

    def contract(
        self,
        operands: Sequence[SSAValue | None],
        extents: tuple[int, int, int],
        strides: tuple[int, int, int, int, int, int],
        tile: tuple[int, int, int],
        *,
        from_zero: bool,
        blocking: tuple[int, int, int] = (0, 0, 0),
        unsigned: tuple[bool, bool] = (False, False),
        folds: Sequence[tuple[int, int, int]] = (),
        turned: tuple[bool, bool] = (False, False),
        ready: tuple[bool, bool] = (False, False),
        ahead: bool = False,
        along: int = 0,
    ) -> ops.ContractOp:
        """See `ContractOp`; its bodies are empty and may be filled."""
        op = ops.ContractOp(
            operands, extents, strides, tile,
            from_zero=from_zero, blocking=blocking, unsigned=unsigned, folds=folds, turned=turned, ready=ready,
            ahead=ahead, along=along,
        )  # fmt: skip
        return self.insert(op)

    def barrier(self) -> None:
        self.insert(ops.BarrierOp())

    def line_offset(self, buffer: SSAValue, index: Index, size: int) -> SSAValue:
        """Elements from `index` on that lie before the next address that is a multiple of `size` bytes."""
        return self.insert(address_ops.LineOffsetOp(buffer, self.index(index), size)).results[0]

    def prefetch(self, buffer: SSAValue, index: Index) -> None:
        """Ask for the line of an element, which may lie outside of the buffer."""
        self.insert(address_ops.PrefetchOp(buffer, self.index(index)))

    def lane_id(self) -> SSAValue:
        return self.insert(ops.LaneIdOp()).results[0]

    def _read(
        self,
        op: type[ops.LoadOp | ops.GatherOp],
        buffer: SSAValue,
        where: SSAValue,
        lanes: int,
        mask: SSAValue | None,
        passthru: SSAValue | None,
    ) -> SSAValue:
        """Made through `create`, as all arithmetic is."""
        mask = _partial(mask)
        passthru = None if mask is None else passthru
        operands = [buffer, where, *(value for value in (mask, passthru) if value is not None)]
        properties = {"operandSegmentSizes": _segments(1, 1, int(mask is not None), int(passthru is not None))}
        kind = vector_of(buffer_type(buffer).element, lanes)
        return self.insert(op.create(operands=operands, result_types=(kind,), properties=properties)).results[0]

    def _write(
        self,
        op: type[ops.StoreOp | ops.ScatterOp],
        operands: list[SSAValue],
        mask: SSAValue | None,
        properties: Mapping[str, Attribute],
    ) -> None:
        mask = _partial(mask)
        segments = _segments(1, 1, 1, int(mask is not None))
        operands = operands if mask is None else [*operands, mask]
        self.insert(op.create(operands=operands, properties={**properties, "operandSegmentSizes": segments}))


@lru_cache(maxsize=16)
def _segments(*sizes: int) -> Attribute:
    """How many values stand for each operand; the last ones are optional."""
    return DenseArrayBase.from_list(i32, list(sizes))


def _partial(mask: SSAValue | None) -> SSAValue | None:
    """No mask where every lane is known to be on."""
    return None if mask is not None and known_int(mask) == -1 else mask
