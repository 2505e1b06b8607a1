"""The proof on TileIR that a kernel is one product: C = A B of whole compact float32 matrices, and nothing else.

The kernel stores tiles of C that cover it; each is the sum, from zero, of products of a tile of A and one of B over
tiles that cover what is contracted. Where a tile reaches out of its view, loads give zero and nothing is stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.affine import Affine, affine_of
from tilewright.core.dtypes import f32
from tilewright.ir.attrs import Policy
from tilewright.ir.kernel import Kernel, Parameter
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.elementwise import AddOp, MulOp, SubOp
from tilewright.ir.ops.regions import CarryingOp, ParallelOp, PipelineOp, ReduceOp, SerialOp, StageOp, YieldOp
from tilewright.ir.ops.tiles import ConstantOp, MmaOp
from tilewright.ir.types import SpaceAttr, compact_strides, space_of

__all__ = ["VERSION", "NoProduct", "WholeProduct", "product_of"]

VERSION = 1
_MOST = (1 << 31) - 1  # rows or columns that CBLAS can count
_Found = TypeVar("_Found", bound=Operation)


@dataclass(frozen=True, slots=True)
class WholeProduct:
    """The kernel is C[m, n] = sum over k of A[m, k] B[k, n]; its arguments are A, B and C."""

    m: int
    n: int
    k: int
    version: int = VERSION


@dataclass(frozen=True, slots=True)
class NoProduct:
    """Why a kernel is no whole product."""

    reason: str


class _NotProvedError(Exception):
    """Leaves the proof with its reason."""


def product_of(kernel: Kernel) -> WholeProduct | NoProduct:
    """The contract of a kernel, or the reason why it has none."""
    try:
        return _proved(kernel)
    except _NotProvedError as error:
        return NoProduct(str(error))


def _require(holds: bool, reason: str) -> None:  # noqa: FBT001  a fact, not a flag
    if not holds:
        raise _NotProvedError(reason)


def _proved(kernel: Kernel) -> WholeProduct:
    m, n, k = _extents(kernel.parameters)
    block = kernel.op.body.block
    root = _only(list(block.ops), ParallelOp)
    store = _only(list(root.body.block.ops), StoreOp, CarryingOp, LoadOp, MmaOp)
    a, b, c = block.args
    _require(store.view is c and store.mask is None, "what is stored is no plain tile of the third argument")
    out = space_of(store.value)
    rows, columns = store.origin
    _covers(root, [rows, columns], out.extents, (m, n))
    mma, steps = _sum(root, store.value)
    _require(bool(mma.reassociate), "the product keeps the order of its sum")
    left, right = (_load(value) for value in (mma.a, mma.b))
    _require(left.view is a and right.view is b, "the operands are not the first and the second argument")
    axes = [space_of(each.result) for each in (left, right)]
    inner = _inner(axes[0], axes[1], out)
    _require(_same(left.origin[0], rows) and _same(right.origin[1], columns), "operands and result lie apart")
    _require(_same(left.origin[1], right.origin[0]), "the operands begin at different places of the sum")
    _covers(steps, [left.origin[1]], (inner,), (k,))
    return WholeProduct(m, n, k)


def _extents(parameters: Sequence[Parameter]) -> tuple[int, int, int]:
    plain = len(parameters) == 3 and all(
        p.element is f32
        and len(p.shape) == 2
        and p.strides == compact_strides(p.shape)
        and 0 < min(p.shape) <= max(p.shape) <= _MOST
        for p in parameters
    )
    _require(plain, "the arguments are not three compact float32 matrices")
    (m, k), (inner, n), result = (p.shape for p in parameters)
    _require(inner == k and result == (m, n), "the shapes are not those of a product")
    return m, n, k


_PLAIN = (ConstantOp, AddOp, SubOp, MulOp, YieldOp)


def _only(ops: Sequence[Operation], wanted: type[_Found], *others: type[Operation]) -> _Found:
    """The one operation of a kind; nothing else stands beside it but arithmetic and `others`."""
    for op in ops:
        _require(isinstance(op, (wanted, *others, *_PLAIN)), f"the kernel holds {op.name}")
    found = [op for op in ops if isinstance(op, wanted)]
    _require(len(found) == 1, f"the kernel holds {wanted.name} {len(found)} times")
    return found[0]


def _sum(root: ParallelOp, value: SSAValue) -> tuple[MmaOp, CarryingOp | None]:
    """The product that is summed, and the loop over its blocks if there is one."""
    owner = value.owner
    loops = [op for op in root.body.block.ops if isinstance(op, CarryingOp)]
    _require(loops in ([], [owner]), "a loop stands beside the product")
    if isinstance(owner, MmaOp) and owner.parent is root.body.block:
        _require(_is_zero(owner.c), "the sum does not begin at zero")
        return owner, None
    if not isinstance(owner, SerialOp | PipelineOp | ReduceOp):
        raise _NotProvedError("what is stored is no product")
    loop = owner
    ordered = isinstance(loop, ReduceOp) and loop.policy.data is not Policy.UNORDERED_TREE
    _require(not ordered, "the fold keeps its order")
    _require(len(loop.inits) == 1 and _is_zero(loop.inits[0]), "the sum does not begin at zero")
    mma = _only(list(loop.body.block.ops), MmaOp, LoadOp, StageOp)
    last = loop.body.block.last_op
    yields = isinstance(last, YieldOp) and last.values[0] is mma.result
    _require(yields and mma.c is loop.carries[0], "the loop carries something else than the sum")
    return mma, loop


def _load(value: SSAValue) -> LoadOp:
    op = value.owner
    if not isinstance(op, LoadOp):
        raise _NotProvedError("an operand is no plain tile of an argument")
    _require(op.mask is None and (op.fill is None or _is_zero(op.fill)), "an operand is masked or padded")
    return op


def _inner(a: SpaceAttr, b: SpaceAttr, out: SpaceAttr) -> int:
    """The extent of the contracted dimension: a is [m, k], b is [k, n], out is [m, n]."""
    straight = a.rank == b.rank == out.rank == 2 and a.dims[0] == out.dims[0] and b.dims[1] == out.dims[1]
    _require(straight and a.dims[1] == b.dims[0] and a.dims[1] not in out.dims, "an operand is turned")
    same = a.extents[0] == out.extents[0] and b.extents[1] == out.extents[1] and a.extents[1] == b.extents[0]
    _require(same, "an operand is repeated")
    return a.extents[1]


def _covers(
    op: ParallelOp | CarryingOp | None, origins: Sequence[SSAValue], tile: Sequence[int], whole: Sequence[int]
) -> None:
    """Along every axis tiles begin at 0, one tile apart, and reach the end; every index moves one of them."""
    free = {} if op is None else dict(zip(op.indices, op.space.extents, strict=True))
    for origin, extent, size in zip(origins, tile, whole, strict=True):
        form = affine_of(origin)
        _require(form is not None and not form.constant, "a tile begins at no multiple of its size")
        terms = dict(form.terms) if isinstance(form, Affine) else {}
        trips = 1
        for index, factor in terms.items():
            _require(len(terms) == 1 and index in free and factor == extent, "tiles overlap, or leave gaps")
            trips = free.pop(index)
        _require((trips - 1) * extent < size <= trips * extent, "the tiles do not cover their matrix once")
    _require(all(extent == 1 for extent in free.values()), "programs repeat each other")


def _same(a: SSAValue, b: SSAValue) -> bool:
    return a is b or (affine_of(a) is not None and affine_of(a) == affine_of(b))


def _is_zero(value: SSAValue) -> bool:
    return isinstance(value.owner, ConstantOp) and not value.owner.value.data
