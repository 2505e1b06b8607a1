"""`expand-contract` through the interpreter: bit for bit the chain of fused multiply-adds, in any shape and strides."""

from itertools import product

import numpy as np
import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, UnknownLoc, bf16, f32, f64, i8, i32
from xdsl.ir import Attribute

from tilewright.numerics.arrays import Array
from tilewright.numerics.fma import fma
from tilewright.xir.address_ops import PrefetchOp
from tilewright.xir.builder import XirBuilder
from tilewright.xir.interp import run
from tilewright.xir.ops import AllocOp, CallOp, ContractOp, FuncOp, KernelOp
from tilewright.xir.passes.expand_contract import ExpandContract
from tilewright.xir.passes.runner import run_pipeline
from tilewright.xir.types import BufferType, buffer_type
from tilewright.xir.values import dtype_of, storage_dtype

LAYOUTS = ("rows", "columns", "padded", "strided")
ROWS = ("rows", "rows", "rows")
COLUMNS = ("columns", "columns", "columns")


def strides_of(layout: str, shape: tuple[int, int]) -> tuple[int, int]:
    rows, columns = shape
    match layout:
        case "rows":
            return max(columns, 1), 1
        case "columns":
            return 1, max(rows, 1)
        case "padded":
            return columns + 3, 1
        case _:
            return 2 * columns + 1, 2


def extent(shape: tuple[int, int], strides: tuple[int, int]) -> int:
    return 0 if 0 in shape else 1 + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))


def contract_module(
    shape: tuple[int, int, int],
    strides: list[tuple[int, int]],
    tile: tuple[int, int, int],
    from_zero: bool,
    elements: tuple[Attribute, Attribute, Attribute] = (f32, f32, f32),
    guard: int = 2,
    blocking: tuple[int, int, int] = (0, 0, 0),
    ahead: bool = False,
) -> ModuleOp:
    m, n, k = shape
    shapes = ((m, k), (k, n), (m, n))
    buffers = [
        BufferType.of(element, extent(shape, stride) + 2 * guard)
        for element, shape, stride in zip(elements, shapes, strides, strict=True)
    ]
    kernel = KernelOp("k", buffers, 1)
    b = XirBuilder(kernel.body.block, FileLineColLoc(StringAttr("k.py"), IntAttr(1), IntAttr(1)))
    kernel.location = b.place
    operands = [value for argument in kernel.body.block.args[:-1] for value in (argument, b.i64(guard))]
    flat = (*strides[0], *strides[1], *strides[2])
    b.contract(operands, shape, flat, tile, from_zero=from_zero, blocking=blocking, ahead=ahead)
    b.return_()
    return ModuleOp([kernel])


def matrix(memory: Array, shape: tuple[int, int], strides: tuple[int, int], guard: int = 2) -> Array:
    item = memory.itemsize
    return np.lib.stride_tricks.as_strided(memory[guard:], shape, (strides[0] * item, strides[1] * item))


def chain(element: Attribute, a: Array, b: Array, c: Array) -> Array:
    for k in range(a.shape[1]):
        c = fma(dtype_of(element), a[:, k : k + 1], b[k : k + 1], c)
    return c


def check(
    shape: tuple[int, int, int],
    layouts: tuple[str, str, str],
    tile: tuple[int, int, int],
    from_zero: bool,
    elements: tuple[Attribute, Attribute, Attribute] = (f32, f32, f32),
    blocking: tuple[int, int, int] = (0, 0, 0),
    ahead: bool = False,
) -> ModuleOp:
    """Guards and gaps hold NaN (integers: noise) and must neither change nor be seen in C."""
    m, n, k = shape
    shapes = ((m, k), (k, n), (m, n))
    strides = [strides_of(layout, shape) for layout, shape in zip(layouts, shapes, strict=True)]
    module = contract_module(shape, strides, tile, from_zero, elements, blocking=blocking, ahead=ahead)
    run_pipeline(module, [ExpandContract()])
    rng = np.random.default_rng(hash((shape, tile)) % 2**32)
    memories: list[Array] = []
    for element, own, stride in zip(elements, shapes, strides, strict=True):
        dtype = storage_dtype(element)
        memory = np.full(extent(own, stride) + 4, 77 if dtype.kind == "i" else np.nan).astype(dtype)
        if 0 not in own:
            values = rng.integers(-100, 100, own) if dtype.kind == "i" else rng.standard_normal(own)
            matrix(memory, own, stride)[...] = values.astype(dtype)
        memories.append(memory)
    a, b, c = (matrix(memory, own, stride) for memory, own, stride in zip(memories, shapes, strides, strict=True))
    wide = storage_dtype(elements[2])
    start = np.zeros((m, n), wide) if from_zero else c.copy()
    expected = memories[2].copy()
    if m and n:
        matrix(expected, shapes[2], strides[2])[...] = chain(elements[2], a.astype(wide), b.astype(wide), start)
    run(module, memories)
    np.testing.assert_array_equal(memories[2].view(np.uint8), expected.view(np.uint8))
    return module


@pytest.mark.parametrize("tile", [(2, 1, 4), (3, 2, 2), (1, 1, 1), (4, 2, 8)])
@pytest.mark.parametrize("from_zero", [False, True])
def test_every_small_shape(tile: tuple[int, int, int], from_zero: bool):
    for m, n, k in product(range(0, 10, 3), range(10), (0, 1, 2, 5)):
        check((m, n, k), ROWS, tile, from_zero)


@pytest.mark.parametrize("layouts", list(product(LAYOUTS, repeat=3)))
def test_every_layout(layouts: tuple[str, str, str]):
    for shape in ((5, 7, 3), (1, 6, 2), (7, 1, 4)):
        check(shape, layouts, (2, 2, 4), False)


@pytest.mark.parametrize("packed", [0, 1, 2])
@pytest.mark.parametrize("blocks", [(0, 0), (3, 0), (2, 4), (4, 2)])
def test_blocks_and_panels_leave_every_chain_as_it_is(blocks: tuple[int, int], packed: int):
    for shape in ((9, 19, 7), (8, 16, 4), (1, 3, 9), (6, 18, 0), (0, 4, 3)):
        for layouts in (ROWS, ("columns", "rows", "padded"), ("strided", "columns", "rows"), COLUMNS):
            check(shape, layouts, (2, 2, 4), False, blocking=(blocks[0], blocks[1], packed))


@pytest.mark.parametrize("packed", [1, 2])
@pytest.mark.parametrize("columns", [8, 16, 19])
def test_panels_copied_beside_the_tiles_of_others(columns: int, packed: int):
    """Eight tiles of rows and more: with whole, partial and no other panels, and parts of k that are cut short."""
    for rows, k in ((16, 5), (19, 33)):
        for layouts in (ROWS, ("columns", "rows", "padded"), ("rows", "columns", "rows"), ("rows", "padded", "rows")):
            check((rows, columns, k), layouts, (2, 2, 4), False, blocking=(0, 0, packed))
    check((33, columns, 29), ROWS, (2, 2, 4), True, blocking=(13, 0, packed))


def test_both_operands_of_a_packed_product_are_read_from_panels():
    module = check((9, 19, 7), ("columns", "rows", "rows"), (4, 2, 4), True, blocking=(3, 8, 2))
    functions = [op for op in module.walk() if isinstance(op, FuncOp)]
    panels = [op for op in module.walk() if isinstance(op, AllocOp)]
    extents = {buffer_type(op.buffer).extent for op in panels}
    assert extents == {8 * 3, 24 * 3}
    tiles = [op for op in functions if op.sym_name.data.startswith("contract")]
    read = {kind.extent for op in tiles for kind in op.body.block.arg_types[:3] if isinstance(kind, BufferType)}
    assert read == extents


def test_blocks_of_k_of_any_length_share_their_tiles_and_copies():
    module = contract_module((16, 32, 19), [(19, 1), (32, 1), (32, 1)], (4, 2, 8), False, blocking=(8, 0, 2))
    run_pipeline(module, [ExpandContract()])
    names = sorted(op.sym_name.data for op in module.walk() if isinstance(op, FuncOp))
    assert names == ["contract_4x2x8_0", "panel_16_0", "panel_4_0"]


def test_panels_of_any_height_are_filled_by_whole_vectors():
    for rows in (1, 3, 6):
        check((13, 9, 6), ("rows", "rows", "rows"), (rows, 1, 4), False, blocking=(4, 7, 2))


@pytest.mark.parametrize(
    "elements", [(f64, f64, f64), (bf16, bf16, f32), (f32, bf16, f64), (i32, i32, i32), (i8, i8, i32)]
)
def test_elements_are_converted_to_those_of_c(elements: tuple[Attribute, Attribute, Attribute]):
    check((5, 7, 3), ("rows", "columns", "rows"), (2, 2, 4), False, elements)


def test_equal_tiles_share_a_function_and_places_survive():
    strides = [(4, 1), (33, 1), (33, 1)]
    module = contract_module((17, 33, 4), strides, (8, 2, 8), False)
    run_pipeline(module, [ExpandContract()])
    ops = list(module.walk())
    assert len([op for op in ops if isinstance(op, FuncOp)]) == len([op for op in ops if isinstance(op, CallOp)]) == 4
    assert not any(isinstance(op, ContractOp) for op in ops)
    assert not any(isinstance(op.location, UnknownLoc) for op in ops if not isinstance(op, ModuleOp))


def test_a_product_of_one_tile_stays_inline():
    module = check((2, 8, 5), ROWS, (2, 2, 4), True)
    assert not any(isinstance(op, CallOp) for op in module.walk())


def test_accumulators_are_carried_by_a_rolled_loop():
    module = check((4, 16, 100), ROWS, (4, 2, 8), True)
    (loop,) = (op for op in module.walk() if isinstance(op, scf.ForOp))
    names = [op.name for op in loop.body.block.ops]
    assert len(loop.results) == names.count("math.fma") == 8
    assert names.count("xir.load") == 2 + 4


def test_rows_are_vectorised_when_they_are_what_lies_together():
    module = check((9, 5, 4), COLUMNS, (2, 1, 4), False)
    assert not any(op.name in ("xir.gather", "xir.scatter") for op in module.walk())


@pytest.mark.parametrize(("layout", "asks"), [("padded", True), ("columns", False)])
@pytest.mark.parametrize("from_zero", [True, False])
def test_lines_of_c_are_asked_for_where_they_lie_in_rows(layout: str, asks: bool, from_zero: bool) -> None:
    module = check((5, 11, 9), ("rows", "rows", layout), (2, 2, 4), from_zero, blocking=(4, 0, 0), ahead=True)
    assert any(isinstance(op, PrefetchOp) for op in module.walk()) == asks
    assert not any(
        isinstance(op, PrefetchOp) for op in check((5, 11, 9), ("rows", "rows", layout), (2, 2, 4), from_zero).walk()
    )
