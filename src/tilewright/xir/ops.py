"""The operations XIR adds to xDSL's arith, math, scf and vector: kernels, functions, memory, lanes, folds, contraction.

XIR is mutable SSA below tiles. All index arithmetic is i64; values are scalars or one-dimensional vectors. Nothing
here assumes a CPU.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, IntAttr, StringAttr
from xdsl.dialects.math import FloatingPointLikeUnaryMathOperation
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrConstraint,
    AttrSizedOperandSegments,
    BaseAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure, SameOperandsAndResultType, SymbolOpInterface

from tilewright.xir.types import I1, I64, BufferType, buffer_type, vector_of

_MASK = "(`mask` $mask^ `:` type($mask))? "
_ELSE = "(`else` $passthru^ `:` type($passthru))? "
_GATHER = "attr-dict `:` type($buffer) `,` type($indices) `->` type($result)"
_SCATTER = "attr-dict `:` type($value) `,` type($buffer) `,` type($indices)"

ANY: AttrConstraint = AnyAttr()
BUFFER: AttrConstraint = BaseAttr(BufferType)

FOLD_KINDS = (
    "addf",
    "mulf",
    "maximumf",
    "minimumf",
    "addi",
    "muli",
    "maxsi",
    "minsi",
    "maxui",
    "minui",
    "andi",
    "ori",
    "xori",
)
ATOMIC_KINDS = ("addf", "maximumf", "minimumf", "addi", "maxsi", "minsi", "maxui", "minui")


def _optional(value: SSAValue | None) -> list[SSAValue]:
    return [] if value is None else [value]


@irdl_op_definition
class KernelOp(IRDLOperation):
    """An entry, run once for every task in [0, tasks); tasks are independent.

    Body arguments: the buffers in signature order, memory of the launch, then the i64 task index. A module may have
    several kernels with the same arguments: each begins when all tasks of the one before are done.
    """

    name = "xir.kernel"
    sym_name = prop_def(StringAttr)
    tasks = prop_def(IntAttr)
    body = region_def("single_block")
    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove())
    assembly_format: ClassVar[str | None] = "$sym_name `tasks` $tasks attr-dict-with-keyword $body"

    def __init__(self, name: str, buffers: Sequence[BufferType], tasks: int):
        super().__init__(
            regions=[Region(Block(arg_types=[*buffers, I64]))],
            properties={"sym_name": StringAttr(name), "tasks": IntAttr(tasks)},
        )


@irdl_op_definition
class FuncOp(IRDLOperation):
    """An internal function, never inlined, of buffers, scalars and vectors. It returns through `xir.return`."""

    name = "xir.func"
    sym_name = prop_def(StringAttr)
    body = region_def("single_block")
    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove())
    assembly_format: ClassVar[str | None] = "$sym_name attr-dict-with-keyword $body"

    def __init__(self, name: str, arguments: Sequence[Attribute]):
        super().__init__(regions=[Region(Block(arg_types=arguments))], properties={"sym_name": StringAttr(name)})


@irdl_op_definition
class CallOp(IRDLOperation):
    """Calls an internal function."""

    name = "xir.call"
    callee = prop_def(StringAttr)
    arguments = var_operand_def(ANY)
    results_ = var_result_def(ANY)
    assembly_format: ClassVar[str | None] = (
        "$callee `(` $arguments `)` attr-dict `:` functional-type(operands, results)"
    )

    def __init__(self, callee: str, arguments: Sequence[SSAValue], results: Sequence[Attribute] = ()):
        super().__init__(operands=[arguments], result_types=[results], properties={"callee": StringAttr(callee)})


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """Ends a kernel (no values) or a function."""

    name = "xir.return"
    values = var_operand_def(ANY)
    traits = traits_def(IsTerminator())
    assembly_format: ClassVar[str | None] = "($values^ `:` type($values))? attr-dict"

    def __init__(self, values: Sequence[SSAValue] = ()):
        super().__init__(operands=[values])


@irdl_op_definition
class AllocOp(IRDLOperation):
    """Worker-private storage with unspecified contents, live for the whole kernel. Only at the top level of one."""

    name = "xir.alloc"
    buffer = result_def(BUFFER)
    assembly_format: ClassVar[str | None] = "attr-dict `:` type($buffer)"

    def __init__(self, element: Attribute, extent: int, space: str = "scratch"):
        super().__init__(result_types=[BufferType.of(element, extent, space)])


@irdl_op_definition
class LoadOp(IRDLOperation):
    """Consecutive elements from `index` on: one for a scalar result, W for a vector.

    Lanes whose mask bit is off touch no memory and take `passthru` (zero without one).
    """

    name = "xir.load"
    buffer = operand_def(BUFFER)
    index = operand_def(I64)
    mask = opt_operand_def(ANY)
    passthru = opt_operand_def(ANY)
    result = result_def(ANY)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format: ClassVar[str | None] = (
        "$buffer `[` $index `]` " + _MASK + _ELSE + "attr-dict `:` type($buffer) `->` type($result)"
    )

    def __init__(
        self,
        buffer: SSAValue,
        index: SSAValue,
        lanes: int = 1,
        *,
        mask: SSAValue | None = None,
        passthru: SSAValue | None = None,
    ):
        kind = vector_of(buffer_type(buffer).element, lanes)
        super().__init__(operands=[buffer, index, _optional(mask), _optional(passthru)], result_types=[kind])


@irdl_op_definition
class StoreOp(IRDLOperation):
    """Writes a scalar, or a vector to consecutive elements; lanes whose mask bit is off write nothing.

    `streaming` asks for stores that bypass the caches.
    """

    name = "xir.store"
    value = operand_def(ANY)
    buffer = operand_def(BUFFER)
    index = operand_def(I64)
    mask = opt_operand_def(ANY)
    streaming = prop_def(BoolAttr, default_value=BoolAttr.from_bool(False))
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format: ClassVar[str | None] = (
        "$value `,` $buffer `[` $index `]` " + _MASK + "attr-dict `:` type($value) `,` type($buffer)"
    )

    def __init__(
        self,
        value: SSAValue,
        buffer: SSAValue,
        index: SSAValue,
        *,
        mask: SSAValue | None = None,
        streaming: bool = False,
    ):
        super().__init__(
            operands=[value, buffer, index, _optional(mask)], properties={"streaming": BoolAttr.from_bool(streaming)}
        )


@irdl_op_definition
class GatherOp(IRDLOperation):
    """Element `indices[lane]` for every lane whose mask bit is on, `passthru` (zero without one) elsewhere."""

    name = "xir.gather"
    buffer = operand_def(BUFFER)
    indices = operand_def(ANY)
    mask = opt_operand_def(ANY)
    passthru = opt_operand_def(ANY)
    result = result_def(ANY)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format: ClassVar[str | None] = "$buffer `[` $indices `]` " + _MASK + _ELSE + _GATHER

    def __init__(
        self,
        buffer: SSAValue,
        indices: SSAValue,
        lanes: int,
        *,
        mask: SSAValue | None = None,
        passthru: SSAValue | None = None,
    ):
        kind = vector_of(buffer_type(buffer).element, lanes)
        super().__init__(operands=[buffer, indices, _optional(mask), _optional(passthru)], result_types=[kind])


@irdl_op_definition
class ScatterOp(IRDLOperation):
    """Writes lane values to `indices[lane]` in lane order, where the mask bit is on."""

    name = "xir.scatter"
    value = operand_def(ANY)
    buffer = operand_def(BUFFER)
    indices = operand_def(ANY)
    mask = opt_operand_def(ANY)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format: ClassVar[str | None] = "$value `,` $buffer `[` $indices `]` " + _MASK + _SCATTER

    def __init__(self, value: SSAValue, buffer: SSAValue, indices: SSAValue, *, mask: SSAValue | None = None):
        super().__init__(operands=[value, buffer, indices, _optional(mask)])


@irdl_op_definition
class AtomicOp(IRDLOperation):
    """`buffer[index] = kind(buffer[index], value)` as one atomic step, for a scalar."""

    name = "xir.atomic"
    buffer = operand_def(BUFFER)
    index = operand_def(I64)
    value = operand_def(ANY)
    kind = prop_def(StringAttr)
    assembly_format: ClassVar[str | None] = (
        "$kind $value `,` $buffer `[` $index `]` attr-dict `:` type($value) `,` type($buffer)"
    )

    def __init__(self, kind: str, buffer: SSAValue, index: SSAValue, value: SSAValue):
        super().__init__(operands=[buffer, index, value], properties={"kind": StringAttr(kind)})


@irdl_op_definition
class LanesOp(IRDLOperation):
    """The vector 0, 1, ..., W-1 of i64."""

    name = "xir.lanes"
    result = result_def(ANY)
    traits = traits_def(Pure())
    assembly_format: ClassVar[str | None] = "attr-dict `:` type($result)"

    def __init__(self, lanes: int):
        super().__init__(result_types=[vector_of(I64, lanes)])


@irdl_op_definition
class ScaleOp(IRDLOperation):
    """`value * 2**exponent`, rounded once; the exponents are integers as wide as the elements of the value, or whole
    numbers of its own type.

    For values near 1 and exponents of at most twice the range of the format: `exp` ends in it.
    """

    name = "xir.scale"
    value = operand_def(ANY)
    exponent = operand_def(ANY)
    result = result_def(ANY)
    traits = traits_def(Pure())
    assembly_format: ClassVar[str | None] = (
        "$value `,` $exponent attr-dict `:` type($value) `,` type($exponent) `->` type($result)"
    )

    def __init__(self, value: SSAValue, exponent: SSAValue):
        super().__init__(operands=[value, exponent], result_types=[value.type])


@irdl_op_definition
class SigmoidOp(FloatingPointLikeUnaryMathOperation):
    """`1 / (1 + exp(-x))`, which the math dialect does not have."""

    name = "xir.sigmoid"
    traits = traits_def(Pure(), SameOperandsAndResultType())


@irdl_op_definition
class FirstLanesOp(IRDLOperation):
    """The mask whose lane i is on where i < count."""

    name = "xir.first_lanes"
    count = operand_def(I64)
    result = result_def(ANY)
    traits = traits_def(Pure())
    assembly_format: ClassVar[str | None] = "$count attr-dict `:` type($result)"

    def __init__(self, count: SSAValue, lanes: int):
        super().__init__(operands=[count], result_types=[vector_of(I1, lanes)])


@irdl_op_definition
class FoldLanesOp(IRDLOperation):
    """All lanes folded to a scalar, by halving: lane i meets lane i + W/2, and so on. `kind` is one of FOLD_KINDS."""

    name = "xir.fold_lanes"
    vector = operand_def(ANY)
    kind = prop_def(StringAttr)
    result = result_def(ANY)
    traits = traits_def(Pure())
    assembly_format: ClassVar[str | None] = "$kind $vector attr-dict `:` type($vector) `->` type($result)"

    def __init__(self, kind: str, vector: SSAValue, element: Attribute):
        super().__init__(operands=[vector], result_types=[element], properties={"kind": StringAttr(kind)})


@irdl_op_definition
class ContractOp(IRDLOperation):
    """`C[i, j] = finish(chain over k of fma(A[i, k], B[k, j], ·) from start)`.

    Matrices are (buffer, first index, two element strides): A by (row, k), B by (k, column), C by (row, column). Each
    element's chain runs in k order, once for every step of `folds` (extent, then strides of A and of B; the first one
    outermost), which exclude blocks and panels. `tile` gives the register tile: rows x vectors of lanes columns.
    `blocking` gives the length of a block of k (0: all), the rows between two passes over B (0: all), and how many
    operands are packed into panels first (1: B, 2: A too, a block of rows at a time). Elements of A and B are converted
    to C's type; `unsigned` says whose integers are unsigned.

    The chain starts from C[i, j], from +0 when `from_zero`, or from what `start` yields for (row, column), one vector
    of columns. `finish` takes (row, column, sums) and yields what is stored. Each has a twin for the last, incomplete
    vector of a row, whose accesses are masked. Regions may be empty; they may use values from outside.

    An operand without a buffer is computed into its panels: `left` yields elements of A for (row, k), one vector of
    rows, with as many lanes as the largest power of two that divides the rows of `tile`; `right` those of B for
    (k, column), one vector of columns. Where `turned` says so for A or B, the vector runs along k instead, and no block
    of k is shorter. They are of C's type. Twins of those that are not turned take the number of lanes in use, too; the
    other lanes that they yield mean nothing. An operand that is `ready` lies in panels as `xir.pack` makes them, as
    wide as the register tile, each with all of k: one after the other from its index on.

    `ahead` asks for the lines of C while the sums are computed that will be stored there.

    With `along`, vectors of so many lanes run along k, which is innermost in both operands: each sum is regrouped, and
    C's value comes last. The tile is then rows x columns of one lane, and there are no blocks, panels or folds.
    """

    name = "xir.contract"
    a = opt_operand_def(BUFFER)
    a_index = opt_operand_def(I64)
    b = opt_operand_def(BUFFER)
    b_index = opt_operand_def(I64)
    c = operand_def(BUFFER)
    c_index = operand_def(I64)
    extents = prop_def(ArrayAttr[IntAttr])
    strides = prop_def(ArrayAttr[IntAttr])
    tile = prop_def(ArrayAttr[IntAttr])
    blocking = prop_def(ArrayAttr[IntAttr])
    from_zero = prop_def(BoolAttr)
    unsigned = opt_prop_def(ArrayAttr[BoolAttr])
    folds = opt_prop_def(ArrayAttr[ArrayAttr[IntAttr]])
    turned = opt_prop_def(ArrayAttr[BoolAttr])
    ready = opt_prop_def(ArrayAttr[BoolAttr])
    ahead = opt_prop_def(BoolAttr)
    along = opt_prop_def(IntAttr)
    start = region_def()
    start_tail = region_def()
    finish = region_def()
    finish_tail = region_def()
    left = region_def()
    left_tail = region_def()
    right = region_def()
    right_tail = region_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
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
        regions: Sequence[Region] | None = None,
    ):
        """Records in this order.

        `operands`: a, a_index, b, b_index, c, c_index; None for those that are computed. `extents`: rows, columns, k.
        `strides`: a_row, a_k, b_k, b_col, c_row, c_col. `tile`: register rows, column vectors, lanes. `blocking`: k
        block, row block, how many packed. `unsigned`, `turned` and `ready`: of A and of B. `folds`: extent and strides
        of each. `regions`: the eight bodies.
        """
        properties: dict[str, Attribute | None] = {
            "unsigned": _flags(unsigned),
            "turned": _flags(turned),
            "ready": _flags(ready),
            "ahead": BoolAttr.from_bool(True) if ahead else None,
            "along": IntAttr(along) if along else None,
            "folds": ArrayAttr([_ints(each) for each in folds]) if folds else None,
            "extents": _ints(extents),
            "strides": _ints(strides),
            "tile": _ints(tile),
            "blocking": _ints(blocking),
            "from_zero": BoolAttr.from_bool(from_zero),
        }
        bodies = [Region() for _ in range(8)] if regions is None else list(regions)
        super().__init__(operands=list(map(_optional, operands)), properties=properties, regions=bodies)

    @property
    def steps(self) -> tuple[tuple[int, int, int], ...]:
        """The folds around k, outermost first: extent, stride of A, stride of B."""
        found = () if self.folds is None else self.folds
        return tuple((fold.data[0].data, fold.data[1].data, fold.data[2].data) for fold in found)

    @property
    def sides(self) -> "tuple[Side, Side]":
        """A and B."""
        rows, vectors, lanes = (entry.data for entry in self.tile)
        (a, b), (a_ready, b_ready) = _of_both(self.turned), _of_both(self.ready)
        return (
            Side(self.a, self.a_index, self.left, self.left_tail, rows & -rows, a, rows if a_ready else 0),
            Side(self.b, self.b_index, self.right, self.right_tail, lanes, b, vectors * lanes if b_ready else 0),
        )


@dataclass(frozen=True, slots=True)
class Side:
    """One operand of a contraction: where it lies, or how vectors of so many lanes of its panels are computed. `panels`
    is their width where they are made already.
    """

    buffer: SSAValue | None
    index: SSAValue | None
    body: Region
    tail: Region
    lanes: int
    turned: bool
    panels: int = 0


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """All workers of a group wait for each other; shared memory written before is visible after."""

    name = "xir.barrier"
    assembly_format: ClassVar[str | None] = "attr-dict"


@irdl_op_definition
class LaneIdOp(IRDLOperation):
    """The i64 number of this worker in its group, on targets whose groups run lanes as threads."""

    name = "xir.lane_id"
    result = result_def(I64)
    traits = traits_def(Pure())
    assembly_format: ClassVar[str | None] = "attr-dict"

    def __init__(self) -> None:
        super().__init__(result_types=[I64])


def _of_both(flags: ArrayAttr[BoolAttr] | None) -> tuple[bool, bool]:
    return (False, False) if flags is None else (bool(flags.data[0]), bool(flags.data[1]))


def _flags(values: tuple[bool, bool]) -> ArrayAttr[BoolAttr] | None:
    return ArrayAttr([BoolAttr.from_bool(each) for each in values]) if any(values) else None


def _ints(values: Sequence[int]) -> ArrayAttr[IntAttr]:
    return ArrayAttr([IntAttr(value) for value in values])
