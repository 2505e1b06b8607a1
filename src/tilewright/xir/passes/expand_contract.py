"""`expand-contract`: matrix products become register-blocked loops over vectors."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue

from tilewright.xir import ops
from tilewright.xir.builder import XirBuilder
from tilewright.xir.ops import AllocOp, ContractOp, FuncOp
from tilewright.xir.passes.bodies import Body, body_of
from tilewright.xir.passes.microkernel import Microkernel, Tile
from tilewright.xir.passes.packing import PanelCopy, Panels
from tilewright.xir.rewrite import erase, function_of, root_of
from tilewright.xir.types import buffer_type

__all__ = ["ExpandContract"]

_WRITTEN_OUT = 8  # operations after the sums that are written once for every vector


@dataclass(frozen=True, slots=True)
class ExpandContract:
    """Requires: a verified module.

    Ensures: no `xir.contract` is left; every element of C is the same chain of fused multiply-adds in k order.
    Rewrites: a contract -> loops over blocks of k, column panels and row blocks around one register tile, whose
    accumulators are SSA values over a rolled k loop; B, or both, go through packed panels where asked. Tiles at the
    right and lower edge are smaller ones of their own, the last vector masked. A product of more than one tile calls
    its tiles as internal functions, shared by equal products. Between blocks of k the sums lie in C.
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
    k_block: int
    row_block: int
    packed: int
    unsigned: tuple[bool, bool]
    folds: tuple[tuple[int, int, int], ...]
    start: tuple[Body, Body] | None
    finish: tuple[Body, Body] | None

    @property
    def has_bodies(self) -> bool:
        return self.start is not None or self.finish is not None

    def transposed(self) -> "_Product":
        """C' = B' A': the same products, with vectors along the rows of C."""
        a, b, c = self.b.transposed(), self.a.transposed(), self.c.transposed()
        folds = tuple((extent, b_step, a_step) for extent, a_step, b_step in self.folds)
        return replace(self, a=a, b=b, c=c, m=self.n, n=self.m, unsigned=self.unsigned[::-1], folds=folds)


def _product(op: ContractOp) -> _Product:
    m, n, k = (extent.data for extent in op.extents)
    strides = [stride.data for stride in op.strides]
    rows, columns, lanes = (entry.data for entry in op.tile)
    k_block, row_block, packed = (entry.data for entry in op.blocking)
    a, b, c = (
        _Matrix(op.operands[2 * which], op.operands[2 * which + 1], strides[2 * which], strides[2 * which + 1])
        for which in range(3)
    )
    start = _pair(body_of(op.start), body_of(op.start_tail))
    finish = _pair(body_of(op.finish), body_of(op.finish_tail))
    tile = Tile(rows, columns, lanes)
    blocks = (k_block or max(k, 1), row_block or max(m, 1), packed)
    signs = (False, False) if op.unsigned is None else tuple(bool(each) for each in op.unsigned)
    return _Product(a, b, c, m, n, k, tile, bool(op.from_zero), *blocks, (signs[0], signs[1]), op.steps, start, finish)


def _pair(whole: Body | None, tail: Body | None) -> tuple[Body, Body] | None:
    """The bodies for full vectors and for the last one; one stands for both when the other is missing."""
    first, second = whole or tail, tail or whole
    return None if first is None or second is None else (first, second)


def _oriented(product: _Product) -> _Product:
    """The orientation whose vectors lie in memory as they are: B counts more than C, which is touched once.

    Packing and bodies fix the orientation that was asked for.
    """
    if product.packed or product.has_bodies:
        return product
    return max(product, product.transposed(), key=_contiguity)


def _contiguity(product: _Product) -> int:
    if product.n == 1:
        return -1
    return 2 * (product.b.column <= 1) + (product.c.column == 1)


class _Functions:
    """The tiles and the copies of panels that exist as functions of a module."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._names: dict[Microkernel | PanelCopy, str] = {}
        self._taken = {op.sym_name.data for op in module.body.block.ops if isinstance(op, FuncOp | ops.KernelOp)}

    def name_of(self, body: Microkernel | PanelCopy, builder: XirBuilder) -> str:
        """The function that does this, written at its first use."""
        name = self._names.get(body)
        if name is None:
            name = self._names[body] = self._free_name(body.stem)
            self._write(name, body, builder)
        return name

    def _free_name(self, stem: str) -> str:
        name = next(name for number in range(len(self._taken) + 1) if (name := f"{stem}_{number}") not in self._taken)
        self._taken.add(name)
        return name

    def _write(self, name: str, body: Microkernel | PanelCopy, builder: XirBuilder) -> None:
        function = FuncOp(name, body.argument_types())
        function.location = builder.place
        top = self._module.body.block
        top.insert_op_before(function, next(iter(top.ops)))
        inside = XirBuilder(function.body.block, builder.place)
        body.write(inside, list(function.body.block.args))
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


@dataclass(frozen=True, slots=True)
class _Depth:
    """One block of k: where it starts, how long it is, whether the chain starts or ends with it."""

    first: SSAValue
    length: int
    starts: bool
    ends: bool


class _Expansion:
    """Loops over the tiles of one product."""

    def __init__(self, builder: XirBuilder, functions: _Functions, product: _Product) -> None:
        self._b, self._functions, self._product = builder, functions, product
        self._panels = _blocked(product.n, product.tile.vectors * product.tile.lanes)
        long = product.finish is not None and product.finish[0].length > _WRITTEN_OUT and product.tile.rows > 1
        live = product.packed if product.k and product.n and product.m else 0
        self._at_once = product.m > product.row_block  # panels that are read once are made one by one, and stay in L1
        self._packed = self._scratch() if live >= 1 else None
        self._packed_rows = self._scratch_of_rows() if live >= 2 else None
        self._aside = self._allocated(buffer_type(product.c.buffer).element, product.tile.volume) if long else None

    def write(self) -> None:
        """Blocks of k one after the other: the first starts the chains, the last ends them."""
        p = self._product
        if p.k == 0 and not p.from_zero and not p.has_bodies:
            return
        blocks = _blocked(p.k, p.k_block) or [_Blocks(0, 1, 0)]
        first, last = blocks[0], blocks[-1]
        if first is last and first.count == 1:
            self._block_of_k(_Depth(self._b.i64(0), first.size, starts=True, ends=True))
            return
        self._block_of_k(_Depth(self._b.i64(0), first.size, starts=True, ends=False))
        middle = first.count - 1 - (last is first)
        if middle:
            with self._b.for_(first.size, (1 + middle) * first.size, first.size) as loop:
                self._block_of_k(_Depth(loop.index, first.size, starts=False, ends=False))
        at = last.first if last is not first else (first.count - 1) * first.size
        self._block_of_k(_Depth(self._b.i64(at), last.size, starts=False, ends=True))

    def _scratch(self) -> Panels:
        p = self._product
        width = p.tile.vectors * p.tile.lanes
        return self._panels_for(p.b, p.n if self._at_once else width, width, p.tile.lanes)

    def _scratch_of_rows(self) -> Panels:
        """Panels of the rows of A in one block, as high as a register tile."""
        p, rows = self._product, self._product.tile.rows
        return self._panels_for(p.a, min(p.m, p.row_block), rows, rows & -rows)  # vectors of a power of two

    def _panels_for(self, matrix: _Matrix, extent: int, width: int, lanes: int) -> Panels:
        depth = min(self._product.k, self._product.k_block)
        buffer = self._allocated(buffer_type(matrix.buffer).element, -(-extent // width) * width * depth)
        return Panels(buffer, extent, width, depth, lanes)

    def _allocated(self, element: Attribute, size: int) -> SSAValue:
        """Scratch for so many elements, at the top of the function."""
        op = AllocOp(element, size)
        op.location = self._b.place
        top = function_of(self._b.block)
        first = top.first_op
        if first is not None:
            top.insert_op_before(op, first)
        return op.buffer

    def _block_of_k(self, depth: _Depth) -> None:
        p, b = self._product, self._b
        if self._packed is not None and depth.length and self._at_once:
            _, start = self._at(p.b, depth.first, b.i64(0))
            self._pack(self._packed, p.b.buffer, start, (p.b.row, p.b.column), depth.length)
        for rows in _blocked(p.m, p.row_block):
            with self._each(rows) as top:
                self._panels_of(top, rows.size, depth)

    def _pack(self, panels: Panels, source: SSAValue, start: SSAValue, strides: tuple[int, int], depth: int) -> None:
        """Copy `depth` rows of k into every panel. `strides`: of the source by k and by column."""
        b = self._b
        for block in _blocked(panels.extent, panels.width):
            buffers = (buffer_type(source), buffer_type(panels.buffer))
            copy = PanelCopy(buffers, strides, panels.width, panels.lanes, block.size)
            with self._each(block) as column:
                first = b.add(start, b.mul(column, strides[1]))
                target = panels.start(b, column)
                b.call(self._functions.name_of(copy, b), [source, first, panels.buffer, target, b.i64(depth)])

    def _pack_here(self, column: SSAValue, columns: int, depth: _Depth) -> None:
        """The panel of B that is about to be read."""
        p = self._product
        if self._packed is not None and depth.length and not self._at_once:
            _, start = self._at(p.b, depth.first, column)
            panel = replace(self._packed, extent=columns)
            self._pack(panel, p.b.buffer, start, (p.b.row, p.b.column), depth.length)

    def _panels_of(self, top: SSAValue, height: int, depth: _Depth) -> None:
        p, tile = self._product, self._product.tile
        if self._packed_rows is not None and depth.length:
            _, start = self._at(p.a, top, depth.first)
            rows = replace(self._packed_rows, extent=height)
            self._pack(rows, p.a.buffer, start, (p.a.column, p.a.row), depth.length)
        for panel in self._panels:
            with self._each(panel) as column:
                self._pack_here(column, panel.size, depth)
                for block in _blocked(height, tile.rows):
                    with self._each(block) as row:
                        cut = tile.cut(block.size, panel.size, narrow=not self._fixed)
                        self._tile((top, row), column, cut, depth)

    @property
    def _fixed(self) -> bool:
        """Whether the width of vectors may not change at the edge."""
        return self._packed is not None or self._product.has_bodies

    @contextmanager
    def _each(self, blocks: _Blocks) -> Generator[SSAValue]:
        """The first row or column of every block, as the index of a loop when there are several."""
        if blocks.count == 1:
            yield self._b.i64(blocks.first)
            return
        with self._b.for_(blocks.first, blocks.first + blocks.count * blocks.size, blocks.size) as loop:
            yield loop.index

    def _tile(self, rows: tuple[SSAValue, SSAValue], column: SSAValue, tile: Tile, depth: _Depth) -> None:
        """The tile at a row of a block (its first row, and the row within) and a column."""
        p, b = self._product, self._b
        row = b.add(*rows)
        left, left_index, left_strides = self._left(rows, depth)
        right, right_index, right_strides = self._right(column, depth)
        kernel = Microkernel(
            tile=tile,
            strides=(*left_strides, *right_strides, p.c.row, p.c.column),
            from_zero=p.from_zero and depth.starts,
            whole_b=self._packed is not None,
            buffers=(buffer_type(left), buffer_type(right), buffer_type(p.c.buffer)),
            unsigned=p.unsigned,
            folds=p.folds,
            start=p.start if depth.starts else None,
            finish=p.finish if depth.ends else None,
            aside=buffer_type(self._aside) if self._aside is not None and depth.ends and tile.rows > 1 else None,
        )
        arguments = [left, left_index, right, right_index, *self._at(p.c, row, column)]
        arguments += [b.i64(depth.length), row, column, *kernel.captured()]
        arguments += [] if kernel.aside is None or self._aside is None else [self._aside]
        if self._is_single():
            kernel.write(b, arguments)
        else:
            b.call(self._functions.name_of(kernel, b), arguments)

    def _left(self, rows: tuple[SSAValue, SSAValue], depth: _Depth) -> tuple[SSAValue, SSAValue, tuple[int, int]]:
        """A at a row of tiles: its buffer, the index of its first element, strides by row and by k."""
        p, b = self._product, self._b
        if self._packed_rows is None:
            return (*self._at(p.a, b.add(*rows), depth.first), (p.a.row, p.a.column))
        return self._packed_rows.buffer, self._packed_rows.start(b, rows[1]), (1, self._packed_rows.width)

    def _right(self, column: SSAValue, depth: _Depth) -> tuple[SSAValue, SSAValue, tuple[int, int]]:
        """B at a panel: its buffer, the index of its first element, strides by k and by column."""
        p, b = self._product, self._b
        if self._packed is None:
            return (*self._at(p.b, depth.first, column), (p.b.row, p.b.column))
        start = self._packed.start(b, column) if self._at_once else b.i64(0)
        return self._packed.buffer, start, (self._packed.width, 1)

    def _is_single(self) -> bool:
        p = self._product
        return p.m <= p.tile.rows and p.n <= p.tile.vectors * p.tile.lanes and p.k <= p.k_block

    def _at(self, matrix: _Matrix, row: SSAValue, column: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The buffer, and the index of the element at (row, column)."""
        offset = self._b.add(self._b.mul(row, matrix.row), self._b.mul(column, matrix.column))
        return matrix.buffer, self._b.add(matrix.index, offset)
