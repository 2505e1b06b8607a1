"""`expand-contract`: matrix products become register-blocked loops over vectors."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from tilewright.xir import ops
from tilewright.xir.builder import XirBuilder
from tilewright.xir.ops import ContractOp, FuncOp
from tilewright.xir.passes.microkernel import Microkernel, Tile, write_tile
from tilewright.xir.rewrite import erase, root_of
from tilewright.xir.types import buffer_type

__all__ = ["ExpandContract"]


@dataclass(frozen=True, slots=True)
class ExpandContract:
    """Requires: a verified module.

    Ensures: no `xir.contract` is left; every element of C is the same chain of fused multiply-adds in k order.
    Rewrites: a contract -> loops over column panels and row blocks around one register tile, whose accumulators are
    SSA values over a rolled k loop. Tiles at the right and lower edge are smaller ones of their own, the last vector
    masked. A product of more than one tile calls its tiles as internal functions, shared by equal products.
    Declines: nothing.
    """

    name: str = "expand-contract"

    def apply(self, module: ModuleOp) -> int:
        found = [op for op in module.walk() if isinstance(op, ContractOp)]
        functions = _Functions(module)
        for op in found:
            builder = XirBuilder(root_of(op))
            with builder.before(op):
                _Expansion(builder, functions, _oriented(_product(op))).write()
            erase(op)
        return len(found)


@dataclass(frozen=True, slots=True)
class _Matrix:
    buffer: SSAValue
    index: SSAValue
    row: int
    column: int

    def transposed(self) -> "_Matrix":
        return _Matrix(self.buffer, self.index, self.column, self.row)


@dataclass(frozen=True, slots=True)
class _Product:
    """A is m by k, B is k by n, C is m by n; vectors run along n."""

    a: _Matrix
    b: _Matrix
    c: _Matrix
    m: int
    n: int
    k: int
    tile: Tile
    from_zero: bool

    def transposed(self) -> "_Product":
        """C' = B' A': the same products, with vectors along the rows of C."""
        a, b, c = self.b.transposed(), self.a.transposed(), self.c.transposed()
        return replace(self, a=a, b=b, c=c, m=self.n, n=self.m)


def _product(op: ContractOp) -> _Product:
    m, n, k = (extent.data for extent in op.extents)
    strides = [stride.data for stride in op.strides]
    rows, columns, lanes = (entry.data for entry in op.tile)
    a, b, c = (
        _Matrix(op.operands[2 * which], op.operands[2 * which + 1], strides[2 * which], strides[2 * which + 1])
        for which in range(3)
    )
    return _Product(a, b, c, m, n, k, Tile(rows, columns, lanes), bool(op.from_zero))


def _oriented(product: _Product) -> _Product:
    """The orientation whose vectors lie in memory as they are: B counts more than C, which is touched once."""
    return max(product, product.transposed(), key=_contiguity)


def _contiguity(product: _Product) -> int:
    if product.n == 1:
        return -1
    return 2 * (product.b.column <= 1) + (product.c.column == 1)


class _Functions:
    """The tiles that exist as functions of a module."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._names: dict[Microkernel, str] = {}
        self._taken = {op.sym_name.data for op in module.body.block.ops if isinstance(op, FuncOp | ops.KernelOp)}

    def name_of(self, kernel: Microkernel, builder: XirBuilder) -> str:
        """The function that computes `kernel`, written at its first use."""
        name = self._names.get(kernel)
        if name is None:
            name = self._names[kernel] = self._free_name(kernel.tile)
            self._write(name, kernel, builder)
        return name

    def _free_name(self, tile: Tile) -> str:
        stem = f"contract_{tile.rows}x{tile.vectors}x{tile.lanes}"
        name = next(name for number in range(len(self._taken) + 1) if (name := f"{stem}_{number}") not in self._taken)
        self._taken.add(name)
        return name

    def _write(self, name: str, kernel: Microkernel, builder: XirBuilder) -> None:
        function = FuncOp(name, kernel.argument_types())
        function.location = builder.place
        top = self._module.body.block
        top.insert_op_before(function, next(iter(top.ops)))
        inside = XirBuilder(function.body.block, builder.place)
        write_tile(inside, kernel, list(function.body.block.args))
        inside.return_()


@dataclass(frozen=True, slots=True)
class _Blocks:
    """`count` blocks of `size` from `first` on."""

    first: int
    count: int
    size: int


def _blocked(extent: int, size: int) -> list[_Blocks]:
    """The full blocks of an extent, then the smaller one at its end."""
    full, rest = divmod(extent, size)
    blocks = [_Blocks(0, full, size), _Blocks(full * size, int(rest > 0), rest)]
    return [block for block in blocks if block.count]


class _Expansion:
    """Loops over the tiles of one product."""

    def __init__(self, builder: XirBuilder, functions: _Functions, product: _Product) -> None:
        self._b, self._functions, self._product = builder, functions, product
        self._panels = _blocked(product.n, product.tile.vectors * product.tile.lanes)
        self._rows = _blocked(product.m, product.tile.rows)

    def write(self) -> None:
        if self._product.k == 0 and not self._product.from_zero:
            return
        for panel in self._panels:
            with self._each(panel) as column:
                for block in self._rows:
                    with self._each(block) as row:
                        self._tile(row, column, self._product.tile.cut(block.size, panel.size))

    @contextmanager
    def _each(self, blocks: _Blocks) -> Generator[SSAValue]:
        """The first row or column of every block, as the index of a loop when there are several."""
        if blocks.count == 1:
            yield self._b.i64(blocks.first)
            return
        with self._b.for_(blocks.first, blocks.first + blocks.count * blocks.size, blocks.size) as loop:
            yield loop.index

    def _tile(self, row: SSAValue, column: SSAValue, tile: Tile) -> None:
        p = self._product
        kernel = Microkernel(
            tile=tile,
            k=p.k,
            strides=(p.a.row, p.a.column, p.b.row, p.b.column, p.c.row, p.c.column),
            from_zero=p.from_zero,
            buffers=(buffer_type(p.a.buffer), buffer_type(p.b.buffer), buffer_type(p.c.buffer)),
        )
        a = self._at(p.a, row, self._b.i64(0))
        arguments = [*a, *self._at(p.b, self._b.i64(0), column), *self._at(p.c, row, column)]
        if self._is_single():
            write_tile(self._b, kernel, arguments)
        else:
            self._b.call(self._functions.name_of(kernel, self._b), arguments)

    def _is_single(self) -> bool:
        return len(self._panels) == len(self._rows) == self._panels[0].count == self._rows[0].count == 1

    def _at(self, matrix: _Matrix, row: SSAValue, column: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The buffer, and the index of the element at (row, column)."""
        offset = self._b.add(self._b.mul(row, matrix.row), self._b.mul(column, matrix.column))
        return matrix.buffer, self._b.add(matrix.index, offset)
