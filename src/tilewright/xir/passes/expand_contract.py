"""`expand-contract`: matrix products become register-blocked loops over vectors."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import zip_longest

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue

from tilewright.xir import ops
from tilewright.xir.builder import XirBuilder
from tilewright.xir.ops import AllocOp, ContractOp, FuncOp
from tilewright.xir.pack_op import PackOp
from tilewright.xir.passes.dots import DotTile
from tilewright.xir.passes.filling import Filling, PanelFill
from tilewright.xir.passes.microkernel import Lead, Microkernel, Tile
from tilewright.xir.passes.packing import PanelCopy, Panels, PanelShape
from tilewright.xir.passes.products import Matrix, Operand, Product, Ready, operand_of, oriented, product_of
from tilewright.xir.rewrite import erase, function_of, root_of
from tilewright.xir.types import buffer_type

__all__ = ["ExpandContract"]

_AHEAD = 8  # tiles of a panel, between which the next one is copied
_WRITTEN_OUT = 8  # operations after the sums that are written once for every vector


@dataclass(frozen=True, slots=True)
class ExpandContract:
    """Requires: a verified module.

    Ensures: no `xir.contract` is left; every element of C is the same chain of fused multiply-adds in k order.
    Rewrites: a contract -> loops over blocks of k, column panels and row blocks around one register tile, whose
    accumulators are SSA values over a rolled k loop; B, or both, go through packed panels where asked, and what has no
    buffer is computed into them. Where panels of B are made one by one, the next one is copied between the tiles of the
    one before. Tiles at the right and lower edge are smaller ones of their own, the last vector masked. A product of
    more than one tile calls its tiles as internal functions, shared by equal products. Between blocks of k the sums lie
    in C.
    Declines: nothing.
    """

    name: str = "expand-contract"

    def apply(self, module: ModuleOp) -> int:
        found = [op for op in module.walk() if isinstance(op, ContractOp | PackOp)]
        functions = _Functions(module)
        for op in found:
            builder = XirBuilder(root_of(op))
            with builder.before(op):
                if isinstance(op, PackOp):
                    _pack(builder, functions, op)
                else:
                    _expand(builder, functions, oriented(product_of(op)))
            erase(op)
        return len(found)


_Written = Microkernel | DotTile | PanelCopy | PanelFill


class _Functions:
    """The tiles, and the copies and computations of panels, that exist as functions of a module."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._names: dict[_Written, str] = {}
        self._taken = {op.sym_name.data for op in module.body.block.ops if isinstance(op, FuncOp | ops.KernelOp)}

    def name_of(self, body: _Written, builder: XirBuilder) -> str:
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

    def _write(self, name: str, body: _Written, builder: XirBuilder) -> None:
        function = FuncOp(name, body.argument_types())
        function.location = builder.place
        top = self._module.body.block
        top.insert_op_before(function, next(iter(top.ops)))
        inside = XirBuilder(function.body.block, builder.place)
        body.write(inside, list(function.body.block.args))
        inside.return_()


def _expand(b: XirBuilder, functions: "_Functions", product: Product) -> None:
    if product.along and isinstance(product.a, Matrix) and isinstance(product.b, Matrix):
        _dots(b, functions, product, product.a, product.b)
    else:
        _Expansion(b, functions, product).write()


def _dots(b: XirBuilder, functions: "_Functions", p: Product, left: Matrix, right: Matrix) -> None:
    """Tiles of sums along k, those at the edges smaller."""
    buffers = (buffer_type(left.buffer), buffer_type(right.buffer), buffer_type(p.c.buffer))
    strides = (left.row, right.column, p.c.row, p.c.column)
    start, finish = (None if pair is None else pair[0] for pair in (p.start, p.finish))
    for rows in _blocked(p.m, p.tile.rows):
        with _each(b, rows) as row:
            for columns in _blocked(p.n, p.tile.vectors):
                tile = DotTile(rows.size, columns.size, p.along, p.k, strides, buffers, p.from_zero, start, finish)
                with _each(b, columns) as column:
                    places = [*_at(b, left, row=row), *_at(b, right, column=column), *_at(b, p.c, row, column)]
                    b.call(functions.name_of(tile, b), [*places, row, column, *tile.captured()])


def _at(
    b: XirBuilder, matrix: Matrix, row: SSAValue | None = None, column: SSAValue | None = None
) -> tuple[SSAValue, SSAValue]:
    """The buffer, and the index of the element at (row, column)."""
    index = matrix.index
    for place, stride in ((row, matrix.row), (column, matrix.column)):
        index = index if place is None else b.add(index, b.mul(place, stride))
    return matrix.buffer, index


def _pack(b: XirBuilder, functions: _Functions, op: PackOp) -> None:
    """One panel."""
    k, columns, width, lanes = (entry.data for entry in op.extents)
    shape, strides = PanelShape(width, lanes, columns), (op.strides.data[0].data, op.strides.data[1].data)
    source, panel = operand_of(op.side, strides, k_first=True), (op.panel, op.panel_index)
    if isinstance(source, Filling):
        _fill_panel(
            b, functions, PanelFill(source, buffer_type(op.panel), shape), panel, (b.i64(0), op.first), b.i64(k)
        )
    else:
        copy = PanelCopy((buffer_type(source.buffer), buffer_type(op.panel)), strides, shape)
        b.call(functions.name_of(copy, b), [source.buffer, source.index, *panel, b.i64(k)])


def _fill_panel(
    b: XirBuilder,
    functions: _Functions,
    fill: PanelFill,
    panel: tuple[SSAValue, SSAValue],
    at: tuple[SSAValue, SSAValue],
    depth: SSAValue,
) -> None:
    """Compute a panel from (k, column) on, by one call, or by one for each vector of columns that is turned. Vectors
    without any column are not read, and not written.
    """
    shape, (buffer, index), (k, column) = fill.shape, panel, at
    for block in _blocked(shape.columns, shape.lanes if fill.filling.turned else shape.columns):
        part = replace(fill, shape=replace(shape, columns=block.size))
        with _each(b, block) as offset:
            place = [k, b.add(column, offset), buffer, b.add(index, offset), depth]
            b.call(functions.name_of(part, b), [*place, *fill.filling.captured()])


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


@contextmanager
def _each(b: XirBuilder, blocks: _Blocks) -> Generator[SSAValue]:
    """The first row or column of every block, as the index of a loop when there are several."""
    if blocks.count == 1:
        yield b.i64(blocks.first)
        return
    with b.for_(blocks.first, blocks.first + blocks.count * blocks.size, blocks.size) as loop:
        yield loop.index


def _last_apart(blocks: Sequence[_Blocks]) -> list[_Blocks]:
    """The blocks, the last one of the first size by itself."""
    first, *others = blocks
    before = replace(first, count=first.count - 1)
    last = _Blocks(first.first + before.count * first.size, 1, first.size)
    return [*([before] if before.count else []), last, *others]


@dataclass(frozen=True, slots=True)
class _Depth:
    """One block of k: where it starts, how long it is, whether the chain starts or ends with it."""

    first: SSAValue
    length: int
    starts: bool
    ends: bool


@dataclass(frozen=True, slots=True)
class _Part:
    """Some of the rows of k of a panel: the first, how many, and how many there are in a full part."""

    first: SSAValue | int
    rows: SSAValue | int
    size: int


def _whole(depth: _Depth) -> _Part:
    return _Part(0, depth.length, depth.length)


@dataclass(frozen=True, slots=True)
class _Strip:
    """A panel over a block of rows, and how many columns the panel has that is copied beside it (0: none)."""

    top: SSAValue
    height: int
    column: SSAValue
    columns: int
    beside: int


def _copied_ahead(product: Product) -> Matrix | None:
    """B, where there are other panels to copy between the many tiles of one, from lines of memory."""
    b, tile = product.b, product.tile
    if not isinstance(b, Matrix) or 1 not in (b.row, b.column):
        return None
    long = product.m >= _AHEAD * tile.rows and product.n > tile.vectors * tile.lanes
    return b if long and product.packs[1] and product.m <= product.row_block else None


_Placed = tuple[SSAValue, SSAValue, tuple[int, int]]
_Led = tuple[Lead, tuple[SSAValue, SSAValue]]
"""Memory to ask for, and its buffer and the index where it begins."""


class _Expansion:
    """Loops over the tiles of one product."""

    def __init__(self, builder: XirBuilder, functions: _Functions, product: Product) -> None:
        self._b, self._functions, self._product = builder, functions, product
        self._panels = _blocked(product.n, product.tile.vectors * product.tile.lanes)
        long = product.finish is not None and product.finish[0].length > _WRITTEN_OUT and product.tile.rows > 1
        packs_a, packs_b = product.packs
        self._at_once = product.m > product.row_block  # panels that are read once are made one by one, and stay in L1
        self._ahead = _copied_ahead(product)
        self._packed = self._scratch() if packs_b else None
        self._packed_rows = self._scratch_of_rows() if packs_a else None
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
        whole = self._at_once or isinstance(p.b, Ready)
        held = p.n if whole else width if self._ahead is None else 2 * width
        return self._panels_for(p.b, p.n, width, p.tile.lanes, held)

    def _scratch_of_rows(self) -> Panels:
        """Panels of the rows of A in one block, as high as a register tile."""
        p, rows = self._product, self._product.tile.rows
        height = min(p.m, p.row_block)
        return self._panels_for(p.a, height, rows, rows & -rows, height)  # vectors of a power of two

    def _panels_for(self, operand: Operand, extent: int, width: int, lanes: int, held: int) -> Panels:
        """Of elements as they lie; computed ones are of C's type. Where they are ready, those."""
        if isinstance(operand, Ready):
            return Panels(operand.buffer, extent, width, self._product.k, lanes, held, operand.index)
        source = self._product.c if isinstance(operand, Filling) else operand
        depth = min(self._product.k, self._product.k_block)
        buffer = self._allocated(buffer_type(source.buffer).element, -(-held // width) * width * depth)
        return Panels(buffer, extent, width, depth, lanes, held)

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
        p = self._product
        if self._packed is not None and self._at_once and not isinstance(p.b, Ready):
            self._fill_all(self._packed, p.b, self._b.i64(0), p.n, depth)
        for rows in _blocked(p.m, p.row_block):
            with _each(self._b, rows) as top:
                if self._packed_rows is not None and not isinstance(p.a, Ready):
                    a = p.a if isinstance(p.a, Filling) else p.a.transposed()
                    self._fill_all(self._packed_rows, a, top, rows.size, depth)
                self._panels_of(top, rows.size, depth)

    def _panels_of(self, top: SSAValue, height: int, depth: _Depth) -> None:
        """The panels over a block of rows, one by one. Ahead, the next one is copied between the tiles of one."""
        ahead = self._ahead is not None
        steps = _last_apart(self._panels) if ahead else self._panels
        if ahead:
            self._fill(self._b.i64(0), steps[0].size, depth, _whole(depth))
        for step, following in zip_longest(steps, steps[1:]):
            with _each(self._b, step) as column:
                if not ahead and not self._at_once:
                    self._fill(column, step.size, depth, _whole(depth))
                beside = following.size if ahead and following is not None else 0
                self._tiles(_Strip(top, height, column, step.size, beside), depth)

    def _tiles(self, strip: _Strip, depth: _Depth) -> None:
        b, tile = self._b, self._product.tile
        following = b.add(strip.column, strip.columns) if strip.beside else strip.column
        for block in _blocked(strip.height, tile.rows):
            cut = tile.cut(block.size, strip.columns, narrow=not self._fixed)
            with _each(self._b, block) as row:
                part = self._part(row, -(-strip.height // tile.rows), depth)
                leads = [*self._lead_of_panel(part, following, depth), *self._lead_of_c(strip, row, cut, depth)]
                self._tile((strip.top, row), strip.column, cut, depth, leads)
                if strip.beside:
                    self._fill(following, strip.beside, depth, part)

    def _part(self, row: SSAValue, parts: int, depth: _Depth) -> _Part:
        """What is copied beside the tile at a row: one of so many parts of k, in squares where columns lie along it."""
        b, matrix = self._b, self._ahead
        if matrix is None:
            return _whole(depth)
        lanes = self._product.tile.lanes if matrix.row == 1 else 1
        size = -(-depth.length // (parts * lanes)) * lanes
        first = b.mul(b.divsi(row, self._product.tile.rows), size)
        return _Part(first, b.minsi(size, b.sub(b.i64(depth.length), first)), size)

    def _lead_of_panel(self, part: _Part, column: SSAValue, depth: _Depth) -> Iterator[_Led]:
        """The part of a panel that is copied after a tile."""
        tile, matrix = self._product.tile, self._ahead
        if matrix is None:
            return
        width, kind = tile.vectors * tile.lanes, buffer_type(matrix.buffer)
        shape, stride = ((width, part.size), matrix.column) if matrix.row == 1 else ((part.size, width), matrix.row)
        where = self._at(matrix, self._b.add(depth.first, part.first), column)
        yield Lead.over(kind, shape, stride, tile.lanes, depth.length), where

    def _lead_of_c(self, strip: _Strip, row: SSAValue, tile: Tile, depth: _Depth) -> Iterator[_Led]:
        """Where the sums of a tile will be stored."""
        p = self._product
        if p.ahead and p.c.column == 1:
            shape, kind = (tile.rows, min(tile.vectors * tile.lanes, strip.columns)), buffer_type(p.c.buffer)
            where = self._at(p.c, self._b.add(strip.top, row), strip.column)
            yield Lead.over(kind, shape, p.c.row, tile.lanes, depth.length), where

    def _fill_all(self, panels: Panels, source: Matrix | Filling, start: SSAValue, extent: int, depth: _Depth) -> None:
        """Fill every panel with one block of k, from column `start` on. Columns of A are its rows."""
        for block in _blocked(extent, panels.width):
            with _each(self._b, block) as column:
                self._fill_one(panels, source, (start, column), block.size, (depth, _whole(depth)))

    def _fill(self, column: SSAValue, columns: int, depth: _Depth, part: _Part) -> None:
        """Fill a part of the panel of B at a column, where there are panels that are not ready."""
        source = self._product.b
        if self._packed is not None and not isinstance(source, Ready):
            self._fill_one(self._packed, source, (self._b.i64(0), column), columns, (depth, part))

    def _fill_one(
        self,
        panels: Panels,
        source: Matrix | Filling,
        columns: tuple[SSAValue, SSAValue],
        live: int,
        rows: tuple[_Depth, _Part],
    ) -> None:
        """Fill a part of one panel. `columns`: the first of all panels, and from there on the first of this one."""
        b, (depth, part) = self._b, rows
        if not depth.length:
            return
        shape = PanelShape(panels.width, panels.lanes, live)
        at = (b.add(depth.first, part.first), b.add(*columns))
        target = b.add(panels.start(b, columns[1], depth.first), b.mul(part.first, panels.width))
        panel, length = (panels.buffer, target), b.index(part.rows)
        if isinstance(source, Filling):
            _fill_panel(b, self._functions, PanelFill(source, buffer_type(panels.buffer), shape), panel, at, length)
            return
        copy = PanelCopy((buffer_type(source.buffer), buffer_type(panels.buffer)), (source.row, source.column), shape)
        b.call(self._functions.name_of(copy, b), [*self._at(source, *at), *panel, length])

    @property
    def _fixed(self) -> bool:
        """Whether the width of vectors may not change at the edge."""
        return self._packed is not None or self._product.has_bodies

    def _tile(
        self,
        rows: tuple[SSAValue, SSAValue],
        column: SSAValue,
        tile: Tile,
        depth: _Depth,
        leads: Sequence[_Led],
    ) -> None:
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
            leads=tuple(lead for lead, _ in leads),
        )
        arguments = [left, left_index, right, right_index, *self._at(p.c, row, column)]
        arguments += [b.i64(depth.length), row, column, *kernel.captured()]
        arguments += [] if kernel.aside is None or self._aside is None else [self._aside]
        arguments += [value for _, place in leads for value in place]
        if self._is_single():
            kernel.write(b, arguments)
        else:
            b.call(self._functions.name_of(kernel, b), arguments)

    def _left(self, rows: tuple[SSAValue, SSAValue], depth: _Depth) -> _Placed:
        """A at a row of tiles: its buffer, the index of its first element, strides by row and by k."""
        a, panels = self._product.a, self._packed_rows
        if panels is not None:
            row = rows[1] if panels.first is None else self._b.add(*rows)
            return panels.buffer, panels.start(self._b, row, depth.first), (1, panels.width)
        return self._in_place(a, self._b.add(*rows), depth.first)

    def _right(self, column: SSAValue, depth: _Depth) -> _Placed:
        """B at a panel: its buffer, the index of its first element, strides by k and by column."""
        panels = self._packed
        if panels is not None:
            return panels.buffer, panels.start(self._b, column, depth.first), (panels.width, 1)
        return self._in_place(self._product.b, depth.first, column)

    def _in_place(self, operand: Operand, row: SSAValue, column: SSAValue) -> _Placed:
        """An operand without panels. Where it would be computed there are no products, and nothing is read."""
        source = operand if isinstance(operand, Matrix) else self._product.c
        return (*self._at(source, row, column), (source.row, source.column))

    def _is_single(self) -> bool:
        p = self._product
        return p.m <= p.tile.rows and p.n <= p.tile.vectors * p.tile.lanes and p.k <= p.k_block

    def _at(self, matrix: Matrix, row: SSAValue, column: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The buffer, and the index of the element at (row, column)."""
        return _at(self._b, matrix, row, column)
