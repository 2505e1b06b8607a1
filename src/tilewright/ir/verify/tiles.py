"""Rules of constants, maps, extraction, contraction and scans."""

from xdsl.ir import Block, SSAValue

from tilewright.core.codes.types import K_MISMATCH
from tilewright.ir.ops.tiles import ConstantOp, ExtractOp, MapOp, MmaOp, ScanOp
from tilewright.ir.types import DimAttr, SpaceAttr, dtype_of, tile_type
from tilewright.ir.verify.rule import Findings, Rule, malformed, typed
from tilewright.ir.verify.shapes import broadcasts, element_part, is_index, is_numeric_value, space_part

CONSTANT_KIND = malformed("V-CONST-1", "a constant is a scalar or a tile, not {kind}")
CONSTANT_PAYLOAD = malformed("V-CONST-2", "the constant 0x{bits:x} has more than the {width} bits of {element}")
MAP_SPACE = typed("V-MAP-1", "map over {space} gives {result}")
MAP_BODY = malformed("V-MAP-2", "the body of a map over {space} takes {given}, not one i64 per axis")
EXTRACT_COUNT = typed("V-EXT-1", "extract gives {given} coordinates to a tile of rank {rank}")
EXTRACT_INDEX = typed("V-EXT-2", "extract is addressed by i64 scalars, not by {kind}")
EXTRACT_ELEMENT = typed("V-EXT-3", "extract from a tile of {expected} gives {element}")
MMA_RESULT = typed("V-MMA-1", "mma gives {result}, but its accumulator is {c}")
MMA_A_DIM = typed("V-MMA-2", "mma has the dimension {dim} in `a` only")
MMA_B_DIM = typed("V-MMA-3", "mma has the dimension {dim} in `b` only")
MMA_CONTRACTED_EXTENT = Rule("V-MMA-4", K_MISMATCH, "mma contracts {axis}={a} of `a` with {axis}={b} of `b`")
MMA_EXTENT = typed("V-MMA-5", "mma meets {dim} with the extents {extents}")
MMA_C_DIM = typed("V-MMA-6", "mma has the dimension {dim} in `c` only")
MMA_NOTHING = typed("V-MMA-7", "mma contracts no dimension: none is in `a` and `b` but not in `c`")
MMA_ACCUMULATOR = typed("V-MMA-8", "mma accumulates in f32, f64 or an integer type, not in {element}")
MMA_OPERAND = typed("V-MMA-9", "mma cannot convert {element} to its accumulator type {accumulator}")
SCAN_EMPTY = malformed("V-SCAN-1", "a scan has no tile")
SCAN_SPACES = typed("V-SCAN-2", "scan runs over tiles of different spaces, {a} and {b}")
SCAN_DIM = typed("V-SCAN-3", "scan runs along {dim}, which {space} lacks")
SCAN_SEED = typed("V-SCAN-4", "scan starts folds of {element} over {rest} from {kind}")
SCAN_RESULT = typed("V-SCAN-5", "scan over {tile} gives {result}")
SCAN_BODY = malformed("V-SCAN-6", "the body of a scan takes {given}, not {expected}")

RULES = (
    CONSTANT_KIND, CONSTANT_PAYLOAD, MAP_SPACE, MAP_BODY, EXTRACT_COUNT, EXTRACT_INDEX, EXTRACT_ELEMENT, MMA_RESULT,
    MMA_A_DIM, MMA_B_DIM, MMA_CONTRACTED_EXTENT, MMA_EXTENT, MMA_C_DIM, MMA_NOTHING, MMA_ACCUMULATOR, MMA_OPERAND,
    SCAN_EMPTY, SCAN_SPACES, SCAN_DIM, SCAN_SEED, SCAN_RESULT, SCAN_BODY,
)  # fmt: skip


def check_constant(op: ConstantOp, found: Findings) -> None:
    """A constant is a pattern that fits its element type."""
    kind = op.result.type
    if not is_numeric_value(kind):
        found.add(CONSTANT_KIND, op, kind=found.type(kind))
        return
    dtype = dtype_of(element_part(kind))
    if op.value.data < 0 or op.value.data.bit_length() > dtype.bits:
        found.add(CONSTANT_PAYLOAD, op, bits=op.value.data, width=dtype.bits, element=dtype.name)


def check_map(op: MapOp, found: Findings) -> None:
    """The result has the space of the map, and the body an index per axis."""
    if tile_type(op.result).space != op.space:
        found.add(MAP_SPACE, op, space=found.space(op.space), result=found.type(op.result.type))
    args = op.body.block.args
    if len(args) != op.space.rank or not all(map(is_index, args)):
        found.add(MAP_BODY, op, space=found.space(op.space), given=_kinds(op.body.block, found))


def check_extract(op: ExtractOp, found: Findings) -> None:
    """One i64 coordinate per axis; the result is the element."""
    kind = tile_type(op.tile)
    if len(op.coords) != kind.space.rank:
        found.add(EXTRACT_COUNT, op, given=len(op.coords), rank=kind.space.rank)
    for coord in op.coords:
        if not is_index(coord):
            found.add(EXTRACT_INDEX, op, kind=found.type(coord.type))
    if op.result.type != kind.element:
        found.add(EXTRACT_ELEMENT, op, expected=found.type(kind.element), element=found.type(op.result.type))


def check_mma(op: MmaOp, found: Findings) -> None:
    """Roles follow from dimension identity, extents agree, and the accumulator is a type that accumulates."""
    if op.result.type != op.c.type:
        found.add(MMA_RESULT, op, result=found.type(op.result.type), c=found.type(op.c.type))
    a, b, c = (tile_type(value).space for value in (op.a, op.b, op.c))
    for rule, one, others in ((MMA_A_DIM, a, (b, c)), (MMA_B_DIM, b, (a, c)), (MMA_C_DIM, c, (a, b))):
        for dim in one.dims:
            if all(other.extent_of(dim) is None for other in others):
                found.add(rule, op, dim=found.dim(dim))
    contracted = [dim for dim in a.dims if b.extent_of(dim) is not None and c.extent_of(dim) is None]
    if not contracted:
        found.add(MMA_NOTHING, op)
    for dim in dict.fromkeys((*a.dims, *b.dims)):
        _check_extent(op, dim, (a, b, c), found)
    _check_elements(op, found)


def _check_extent(op: MmaOp, dim: DimAttr, spaces: tuple[SpaceAttr, SpaceAttr, SpaceAttr], found: Findings) -> None:
    a, b, c = (space.extent_of(dim) for space in spaces)
    extents = list(dict.fromkeys(extent for extent in (a, b, c) if extent is not None))
    if len(extents) < 2:
        return
    if c is None:
        found.add(MMA_CONTRACTED_EXTENT, op, axis=found.dim(dim), a=a, b=b)
    else:
        found.add(MMA_EXTENT, op, dim=found.dim(dim), extents=" and ".join(map(str, extents)))


def _check_elements(op: MmaOp, found: Findings) -> None:
    accumulator = dtype_of(tile_type(op.c).element)
    if accumulator.kind == "bool" or (accumulator.is_float and accumulator.bits < 32):
        found.add(MMA_ACCUMULATOR, op, element=accumulator.name)
    for value in (op.a, op.b):
        element = dtype_of(tile_type(value).element)
        if element.kind == "bool" or (element.is_float and not accumulator.is_float):
            found.add(MMA_OPERAND, op, element=element.name, accumulator=accumulator.name)


def check_scan(op: ScanOp, found: Findings) -> None:
    """Tiles of one space, a seed and a result for each, a body over their elements."""
    tiles: list[SSAValue] = list(op.tiles)
    if not tiles:
        found.add(SCAN_EMPTY, op)
        return
    space = tile_type(tiles[0]).space
    for tile in tiles[1:]:
        if tile_type(tile).space != space:
            found.add(SCAN_SPACES, op, a=found.space(space), b=found.space(tile_type(tile).space))
    if space.extent_of(op.dim) is None:
        found.add(SCAN_DIM, op, dim=found.dim(op.dim), space=found.space(space))
    elements = [tile_type(tile).element for tile in tiles]
    rest = SpaceAttr.of(axis for axis in space.axes if axis.dim != op.dim)
    for seed, element in zip(op.seeds, elements, strict=True):
        if element_part(seed.type) != element or not broadcasts(space_part(seed.type), rest):
            found.add(SCAN_SEED, op, element=found.type(element), rest=found.space(rest), kind=found.type(seed.type))
    for tile, result in zip(tiles, op.results_, strict=False):
        if result.type != tile.type:
            found.add(SCAN_RESULT, op, tile=found.type(tile.type), result=found.type(result.type))
    if len(op.results_) != len(tiles):
        found.add(
            SCAN_RESULT, op, tile=found.types([tile.type for tile in tiles]), result=f"{len(op.results_)} results"
        )
    if [arg.type for arg in op.body.block.args] != elements + elements:
        found.add(SCAN_BODY, op, given=_kinds(op.body.block, found), expected=found.types(elements + elements))


def _kinds(block: Block, found: Findings) -> str:
    return found.types([arg.type for arg in block.args])
