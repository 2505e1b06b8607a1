"""A contraction as its expansion sees it: matrices, what is computed into panels, blocks, and bodies."""

from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from tilewright.xir.ops import ContractOp, Side
from tilewright.xir.passes.bodies import Body, body_of
from tilewright.xir.passes.filling import Filling
from tilewright.xir.passes.microkernel import Tile

__all__ = ["Matrix", "Operand", "Product", "Ready", "operand_of", "oriented", "product_of"]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Element (row, column) lies at `index` + row * `row` + column * `column`."""

    buffer: SSAValue
    index: SSAValue
    row: int
    column: int

    def transposed(self) -> "Matrix":
        return Matrix(self.buffer, self.index, self.column, self.row)


@dataclass(frozen=True, slots=True)
class Ready:
    """Panels that are made already, from `index` on."""

    buffer: SSAValue
    index: SSAValue


Operand = Matrix | Filling | Ready
"""What lies in memory, is computed into panels, or lies in panels."""


@dataclass(frozen=True, slots=True)
class Product:
    """A is m by k, B is k by n, C is m by n; vectors run along n."""

    a: Operand
    b: Operand
    c: Matrix
    m: int
    n: int
    k: int
    tile: Tile
    from_zero: bool
    k_block: int
    row_block: int
    packed: int
    unsigned: tuple[bool, bool]
    folds: tuple[tuple[int, int, int], ...]
    start: tuple[Body, Body] | None
    finish: tuple[Body, Body] | None
    ahead: bool
    along: int

    @property
    def has_bodies(self) -> bool:
        return self.start is not None or self.finish is not None

    @property
    def packs(self) -> tuple[bool, bool]:
        """Whether A, and B, go through panels."""
        live = self.m > 0 and self.n > 0 and self.k > 0
        sides = ((self.a, self.packed >= 2), (self.b, self.packed >= 1))
        a, b = (live and (asked or not isinstance(operand, Matrix)) for operand, asked in sides)
        return a, b


def product_of(op: ContractOp) -> Product:
    """What an operation asks for."""
    m, n, k = (extent.data for extent in op.extents)
    strides = [stride.data for stride in op.strides]
    rows, columns, lanes = (entry.data for entry in op.tile)
    k_block, row_block, packed = (entry.data for entry in op.blocking)
    left, right = op.sides
    a, b = operand_of(left, (strides[0], strides[1])), operand_of(right, (strides[2], strides[3]), k_first=True)
    c = Matrix(op.c, op.c_index, strides[4], strides[5])
    start = _pair(body_of(op.start), body_of(op.start_tail))
    finish = _pair(body_of(op.finish), body_of(op.finish_tail))
    tile = Tile(rows, columns, lanes)
    blocks = (k_block or max(k, 1), row_block or max(m, 1), packed)
    signs = (False, False) if op.unsigned is None else tuple(bool(each) for each in op.unsigned)
    zero, ahead, along = bool(op.from_zero), op.ahead is not None, 0 if op.along is None else op.along.data
    return Product(a, b, c, m, n, k, tile, zero, *blocks, (signs[0], signs[1]), op.steps, start, finish, ahead, along)


def operand_of(side: Side, strides: tuple[int, int], *, k_first: bool = False) -> Operand:
    """A matrix with these strides, or what stands for one; `k_first` says in which order bodies take coordinates."""
    if side.buffer is not None and side.index is not None and side.panels:
        return Ready(side.buffer, side.index)
    if side.buffer is not None and side.index is not None:
        return Matrix(side.buffer, side.index, *strides)
    whole = body_of(side.body)
    if whole is None:
        raise ValueError("an operand has neither buffer nor body, which the verifier refuses")
    return Filling(whole, body_of(side.tail), k_first, side.turned)


def _pair(whole: Body | None, tail: Body | None) -> tuple[Body, Body] | None:
    """The bodies for full vectors and for the last one; one stands for both when the other is missing."""
    first, second = whole or tail, tail or whole
    return None if first is None or second is None else (first, second)


def oriented(product: Product) -> Product:
    """The orientation whose vectors lie in memory as they are: B counts more than C, which is touched once.

    Packing and bodies fix the orientation that was asked for.
    """
    turned = _transposed(product)
    if turned is None or product.packed or product.has_bodies or product.along:
        return product
    return max(product, turned, key=_contiguity)


def _transposed(product: Product) -> Product | None:
    """C' = B' A': the same products, with vectors along the rows of C. None for what is computed."""
    a, b = product.a, product.b
    if not (isinstance(a, Matrix) and isinstance(b, Matrix)):
        return None
    folds = tuple((extent, b_step, a_step) for extent, a_step, b_step in product.folds)
    return replace(
        product, a=b.transposed(), b=a.transposed(), c=product.c.transposed(), m=product.n, n=product.m,
        unsigned=product.unsigned[::-1], folds=folds,
    )  # fmt: skip


def _contiguity(product: Product) -> int:
    if product.n == 1 or not isinstance(product.b, Matrix):
        return -1
    return 2 * (product.b.column <= 1) + (product.c.column == 1)
