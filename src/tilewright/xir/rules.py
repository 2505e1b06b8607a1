"""Type rules of the operations: each yields (rule id, what is wrong). One table says which operation has which rule."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import cast

from xdsl.dialects import arith, math, scf, vector
from xdsl.dialects.builtin import AnyFloat, FixedBitwidthType, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.xir import address_ops, ops
from tilewright.xir.catalogue import CASTS, FLOAT_BINARY, FLOAT_UNARY, INTEGER_BINARY
from tilewright.xir.constants import known_int, width_of
from tilewright.xir.pack_op import PackOp
from tilewright.xir.types import I1, I64, SPACES, BufferType, buffer_type, is_vector, lanes_of, scalar_of, vector_of

__all__ = ["RULES", "Fault"]

Fault = tuple[str, str]
Rule = Callable[[Operation], Iterator[Fault]]


def bits(kind: Attribute) -> int:
    """Bits of a scalar type."""
    return width_of(kind) or (kind.bitwidth if isinstance(kind, AnyFloat) else 0)


def _float_elementwise(op: Operation) -> Iterator[Fault]:
    yield from _same_types(op)
    if not isinstance(scalar_of(op.results[0].type), AnyFloat):
        yield "float-operands", f"{op.name} on {op.results[0].type}"
    elif bits(scalar_of(op.results[0].type)) < 32:
        yield "storage-type", f"{op.name} on {op.results[0].type}, which is for storage only"


def _integer_elementwise(op: Operation) -> Iterator[Fault]:
    yield from _same_types(op)
    if not isinstance(scalar_of(op.results[0].type), IntegerType):
        yield "integer-operands", f"{op.name} on {op.results[0].type}"


def _same_types(op: Operation) -> Iterator[Fault]:
    kind = op.results[0].type
    for operand in op.operands:
        if operand.type is not kind and operand.type != kind:
            yield "same-type", f"{op.name} of {operand.type} gives {kind}"


def _compare(op: Operation) -> Iterator[Fault]:
    left, right = op.operands[0].type, op.operands[1].type
    if left != right:
        yield "same-type", f"{op.name} compares {left} with {right}"
    expected = IntegerType if isinstance(op, arith.CmpiOp) else AnyFloat
    if not isinstance(scalar_of(left), expected):
        yield "compare-operands", f"{op.name} on {left}"
    if op.results[0].type != vector_of(I1, lanes_of(left)):
        yield "compare-result", f"{op.name} of {left} gives {op.results[0].type}"


def _select(op: Operation) -> Iterator[Fault]:
    cond, left, right = (operand.type for operand in op.operands)
    if left != right or left != op.results[0].type:
        yield "same-type", f"{op.name} of {left} and {right} gives {op.results[0].type}"
    if cond not in (I1, vector_of(I1, lanes_of(left))):
        yield "select-condition", f"{cond} selects between {left}"


def _cast(op: Operation) -> Iterator[Fault]:
    source, result = op.operands[0].type, op.results[0].type
    given, wanted = CASTS[type(op)]
    if lanes_of(source) != lanes_of(result):
        yield "cast-lanes", f"{op.name} of {source} gives {result}"
    source, result = scalar_of(source), scalar_of(result)
    if not (_is(source, given) and _is(result, wanted.split()[-1])) or not _widths(wanted, bits(source), bits(result)):
        yield "cast-types", f"{op.name} of {source} gives {result}"


def _is(kind: Attribute, family: str) -> bool:
    families = {"int": IntegerType, "float": AnyFloat}
    return isinstance(kind, families[family]) if family in families else isinstance(kind, IntegerType | AnyFloat)


def _widths(wanted: str, source: int, result: int) -> bool:
    match wanted.split(maxsplit=1)[0]:
        case "wider":
            return result > source
        case "narrower":
            return result < source
        case "same":
            return result == source
        case _:
            return True


def _broadcast(op: Operation) -> Iterator[Fault]:
    source, result = op.operands[0].type, op.results[0].type
    if not is_vector(result) or scalar_of(result) != source:
        yield "broadcast", f"{source} becomes {result}"


def _extract(op: Operation) -> Iterator[Fault]:
    yield from _lane(op, op.operands[0].type, op.results[0].type)


def _insert(op: Operation) -> Iterator[Fault]:
    yield from _lane(op, op.operands[1].type, op.operands[0].type)
    if op.operands[1].type != op.results[0].type:
        yield "same-type", f"{op.name} into {op.operands[1].type} gives {op.results[0].type}"


def _lane(op: Operation, whole: Attribute, part: Attribute) -> Iterator[Fault]:
    position = cast("vector.ExtractOp | vector.InsertOp", op).static_position.get_values()
    if scalar_of(whole) != part or len(op.operands) != 1 + isinstance(op, vector.InsertOp):
        yield "lane-type", f"{op.name} of {part} and {whole}"
    elif len(position) != 1 or not 0 <= position[0] < lanes_of(whole):
        yield "lane-number", f"{op.name} at {position} of {whole}"


def _shuffle(op: Operation) -> Iterator[Fault]:
    first, second, result = op.operands[0].type, op.operands[1].type, op.results[0].type
    lanes = cast(vector.ShuffleOp, op).mask.get_values()
    if not scalar_of(first) == scalar_of(second) == scalar_of(result) or lanes_of(result) != len(lanes):
        yield "shuffle-types", f"{op.name} of {first} and {second} gives {result}"
    elif lanes and not 0 <= min(lanes) <= max(lanes) < lanes_of(first) + lanes_of(second):
        yield "lane-number", f"{op.name} with lanes {lanes}"


def _lanes(op: Operation) -> Iterator[Fault]:
    if scalar_of(op.results[0].type) != I64:
        yield "index-type", f"{op.name} gives {op.results[0].type}"


def _scale(op: Operation) -> Iterator[Fault]:
    value, exponent, result = op.operands[0].type, op.operands[1].type, op.results[0].type
    if value != result or lanes_of(value) != lanes_of(exponent):
        yield "same-type", f"{op.name} of {value} and {exponent} gives {result}"
    value, exponent = scalar_of(value), scalar_of(exponent)
    whole = exponent == value or (_is(exponent, "int") and bits(exponent) == bits(value))
    if not _is(value, "float") or not whole:
        yield "scale-types", f"{op.name} of {value} by {exponent}"


def _first_lanes(op: Operation) -> Iterator[Fault]:
    yield from _index(op, op.operands[0])
    if scalar_of(op.results[0].type) != I1:
        yield "mask-type", f"{op.name} gives {op.results[0].type}"


def _fold_lanes(op: Operation) -> Iterator[Fault]:
    kind, vector_type = cast(ops.FoldLanesOp, op).kind.data, op.operands[0].type
    if not is_vector(vector_type) or scalar_of(vector_type) != op.results[0].type:
        yield "fold-types", f"{op.name} of {vector_type} gives {op.results[0].type}"
    elif lanes_of(vector_type).bit_count() != 1:
        yield "fold-lanes", f"{op.name} of {vector_type} cannot be halved"
    yield from _fold_kind(op, kind, op.results[0].type, ops.FOLD_KINDS)


def _fold_kind(op: Operation, kind: str, element: Attribute, kinds: tuple[str, ...]) -> Iterator[Fault]:
    if kind not in kinds or kind.endswith("f") != isinstance(element, AnyFloat):
        yield "fold-kind", f"{op.name} {kind} of {element}"


def _index(op: Operation, value: SSAValue) -> Iterator[Fault]:
    if value.type != I64:
        yield "index-type", f"{op.name} takes {value.type} as an index"


def _constant(op: Operation) -> Iterator[Fault]:
    value = op.properties.get("value")
    kind = getattr(value, "type", None)
    if kind != op.results[0].type:
        yield "constant-type", f"{op.name} of {kind} gives {op.results[0].type}"


def _load(op: Operation) -> Iterator[Fault]:
    buffer, index, *rest = op.operands
    yield from _index(op, index)
    mask = cast(ops.LoadOp, op).mask if rest else None
    yield from _access(op, buffer, op.results[0].type, mask)
    if rest:
        yield from _passthru(op, cast(ops.LoadOp, op).passthru, mask)


def _store(op: Operation) -> Iterator[Fault]:
    value, buffer, index, *rest = op.operands
    yield from _index(op, index)
    yield from _access(op, buffer, value.type, cast(ops.StoreOp, op).mask if rest else None)


def _line_offset(op: Operation) -> Iterator[Fault]:
    offset = cast(address_ops.LineOffsetOp, op)
    yield from _index(op, offset.index)
    size, item = offset.bytes.data, cast(FixedBitwidthType, buffer_type(offset.buffer).element).size
    if size < item or size & (size - 1):
        yield "line-size", f"{op.name} of {size} bytes for elements of {item}"


def _prefetch(op: Operation) -> Iterator[Fault]:
    yield from _index(op, cast(address_ops.PrefetchOp, op).index)


def _gather(op: Operation) -> Iterator[Fault]:
    gather = cast(ops.GatherOp, op)
    yield from _indices(op, gather.indices, gather.result.type)
    yield from _access(op, gather.buffer, gather.result.type, gather.mask)
    yield from _passthru(op, gather.passthru, gather.mask)


def _scatter(op: Operation) -> Iterator[Fault]:
    scatter = cast(ops.ScatterOp, op)
    yield from _indices(op, scatter.indices, scatter.value.type)
    yield from _access(op, scatter.buffer, scatter.value.type, scatter.mask)


def _indices(op: Operation, indices: SSAValue, value: Attribute) -> Iterator[Fault]:
    if indices.type != vector_of(I64, lanes_of(value)):
        yield "index-type", f"{op.name} of {value} takes {indices.type} as indices"


def _access(op: Operation, buffer: SSAValue, value: Attribute, mask: SSAValue | None) -> Iterator[Fault]:
    kind = buffer.type
    if not isinstance(kind, BufferType) or scalar_of(value) != kind.element:
        yield "element-type", f"{op.name} of {value} in {kind}"
    if mask is not None and mask.type != vector_of(I1, lanes_of(value)):
        yield "mask-type", f"{op.name} of {value} under {mask.type}"


def _passthru(op: Operation, passthru: SSAValue | None, mask: SSAValue | None) -> Iterator[Fault]:
    if passthru is not None and (mask is None or passthru.type != op.results[0].type):
        yield "passthru", f"{op.name} of {op.results[0].type} takes {passthru.type} for lanes that are off"


def _atomic(op: Operation) -> Iterator[Fault]:
    atomic = cast(ops.AtomicOp, op)
    yield from _index(op, atomic.index)
    yield from _access(op, atomic.buffer, atomic.value.type, None)
    yield from _fold_kind(op, atomic.kind.data, scalar_of(atomic.value.type), ops.ATOMIC_KINDS)
    if is_vector(atomic.value.type):
        yield "atomic-scalar", f"{op.name} of {atomic.value.type}"


def _alloc(op: Operation) -> Iterator[Fault]:
    kind = op.results[0].type
    if not isinstance(kind, BufferType) or kind.space.data not in SPACES or kind.space.data in ("global", "launch"):
        yield "alloc-space", f"{op.name} gives {kind}"


def _contract(op: Operation) -> Iterator[Fault]:
    contract = cast(ops.ContractOp, op)
    m, n, k = (extent.data for extent in contract.extents)
    strides = [stride.data for stride in contract.strides]
    if min(m, n, k) < 0 or min(strides) < 0 or min(entry.data for entry in contract.tile) < 1:
        yield "contract-shape", f"extents {m}x{n}x{k}, strides {strides}, tile {[e.data for e in contract.tile]}"
        return
    if any(extent > 1 and stride == 0 for extent, stride in zip((m, n), strides[4:], strict=True)):
        yield "contract-overlap", f"elements of c share a place: extents {m}x{n}, strides {strides[4:]}"
    panels = any(entry.data for entry in contract.blocking)
    panels |= any(side.body.blocks or side.panels for side in contract.sides)
    if contract.steps and (panels or min(map(min, contract.steps)) < 0):
        yield "contract-folds", f"folds {contract.steps}, blocking {[entry.data for entry in contract.blocking]}"
        return
    if contract.along is not None and (
        panels or contract.steps or strides[1:3] != [1, 1] or contract.tile.data[2].data != 1
    ):
        yield "contract-along", f"lanes along k, strides {strides}, tile {[e.data for e in contract.tile]}"
    extents, a_steps, b_steps = zip(*contract.steps, strict=True) if contract.steps else ((), (), ())
    for which, place, buffer, index, shape, steps in (
        ("a", 0, contract.a, contract.a_index, (m, k, *extents), a_steps),
        ("b", 2, contract.b, contract.b_index, (k, n, *extents), b_steps),
        ("c", 4, contract.c, contract.c_index, (m, n), ()),
    ):
        if buffer is not None and index is not None:
            yield from _index(op, index)
            width = contract.sides[place // 2].panels if place < 4 else 0
            moves = (strides[place], strides[place + 1], *steps)
            covered, moves = ((-(-(n if place else m) // width) * width * k,), (1,)) if width else (shape, moves)
            yield from _in_bounds(which, buffer, index, covered, moves)
    for which, side in zip("ab", contract.sides, strict=True):
        yield from _contract_operand(which, side, k, contract.blocking.data[0].data)
    yield from _contract_elements(contract)


def _contract_operand(which: str, side: ops.Side, k: int, k_block: int) -> Iterator[Fault]:
    """An operand lies in a buffer, or has bodies that compute its panels."""
    computed = bool(side.body.blocks)
    if computed == (side.buffer is not None) or (side.buffer is None) != (side.index is None):
        yield "contract-operand", f"{which} {'has a buffer and a body' if computed else 'has neither buffer nor body'}"
        return
    for body, count, wanted in ((side.body, 2, computed), (side.tail, 3, computed and not side.turned)):
        given = [argument.type for block in body.blocks for argument in block.args]
        if given != ([I64] * count if wanted else []) or bool(body.blocks) != wanted:
            yield "contract-operand", f"a body of {which} takes {_shown(given)}"
    shortest = k % k_block or k_block if k_block and k_block < k else k
    if side.turned and 0 < shortest < side.lanes:
        yield "contract-operand", f"{which} is turned in squares of {side.lanes}, and a block of k has {shortest}"


def _pack(op: Operation) -> Iterator[Fault]:
    pack = cast(PackOp, op)
    k, columns, width, lanes = (entry.data for entry in pack.extents)
    strides = (pack.strides.data[0].data, pack.strides.data[1].data)
    if not (k >= 0 and 0 < columns <= width and lanes > 0 and width % lanes == 0) or min(strides) < 0:
        yield "pack-shape", f"{columns} of {width} columns in vectors of {lanes}, {k} rows, strides {strides}"
        return
    yield from _index(op, pack.panel_index)
    yield from _in_bounds("panel", pack.panel, pack.panel_index, (k * width,), (1,))
    if pack.source is not None and pack.index is not None:
        yield from _index(op, pack.index)
        yield from _in_bounds("source", pack.source, pack.index, (k, columns), strides)
        if buffer_type(pack.source).element != buffer_type(pack.panel).element:
            yield "pack-elements", f"{pack.source.type} into {pack.panel.type}"
    yield from _contract_operand("source", pack.side, k, 0)


def _in_bounds(
    which: str, buffer: SSAValue, index: SSAValue, shape: tuple[int, ...], strides: tuple[int, ...]
) -> Iterator[Fault]:
    first = known_int(index)
    if first is None or 0 in shape:
        return
    last = first + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
    extent = cast(BufferType, buffer.type).extent
    if first < 0 or last >= extent:
        yield "contract-bounds", f"{which} covers {first}..{last} of {extent} elements"


def _contract_elements(op: ops.ContractOp) -> Iterator[Fault]:
    c = buffer_type(op.c).element
    a, b = (c if buffer is None else buffer_type(buffer).element for buffer in (op.a, op.b))
    family = AnyFloat | IntegerType if isinstance(c, AnyFloat) else IntegerType
    if (isinstance(c, AnyFloat) and bits(c) < 32) or not all(isinstance(kind, family) for kind in (a, b)):
        yield "contract-elements", f"{a} times {b} into {c}"


def _for(op: Operation) -> Iterator[Fault]:
    for value in op.operands[:3]:
        yield from _index(op, value)
    kinds = [I64, *(value.type for value in op.operands[3:])]
    arguments = [argument.type for argument in op.regions[0].block.args]
    if kinds != arguments or kinds[1:] != [result.type for result in op.results]:
        yield "carry-types", f"{op.name} carries {_shown(kinds[1:])}, its body takes {_shown(arguments)}"
    step = known_int(op.operands[2])
    if step is not None and step <= 0:
        yield "loop-step", f"{op.name} with step {step}"


def _if(op: Operation) -> Iterator[Fault]:
    if op.operands[0].type != I1:
        yield "branch-condition", f"{op.name} on {op.operands[0].type}"
    if op.results and not op.regions[1].blocks:
        yield "branch-arms", f"{op.name} with results has one arm"


def _shown(kinds: list[Attribute]) -> str:
    return "(" + ", ".join(map(str, kinds)) + ")"


def _anything(_: Operation) -> Iterator[Fault]:
    return iter(())


RULES: Mapping[type[Operation], Rule] = MappingProxyType(
    {
        **dict.fromkeys(FLOAT_BINARY | FLOAT_UNARY | {math.FmaOp}, _float_elementwise),
        **dict.fromkeys(INTEGER_BINARY, _integer_elementwise),
        **dict.fromkeys(CASTS, _cast),
        arith.ConstantOp: _constant,
        arith.CmpiOp: _compare,
        arith.CmpfOp: _compare,
        arith.SelectOp: _select,
        vector.BroadcastOp: _broadcast,
        vector.ExtractOp: _extract,
        vector.InsertOp: _insert,
        vector.ShuffleOp: _shuffle,
        scf.ForOp: _for,
        scf.IfOp: _if,
        scf.YieldOp: _anything,
        ops.KernelOp: _anything,
        ops.FuncOp: _anything,
        ops.CallOp: _anything,
        ops.ReturnOp: _anything,
        ops.AllocOp: _alloc,
        ops.LoadOp: _load,
        ops.StoreOp: _store,
        ops.GatherOp: _gather,
        ops.ScatterOp: _scatter,
        ops.AtomicOp: _atomic,
        ops.ScaleOp: _scale,
        address_ops.LineOffsetOp: _line_offset,
        address_ops.PrefetchOp: _prefetch,
        ops.LanesOp: _lanes,
        ops.FirstLanesOp: _first_lanes,
        ops.FoldLanesOp: _fold_lanes,
        ops.ContractOp: _contract,
        PackOp: _pack,
        ops.BarrierOp: _anything,
        ops.LaneIdOp: _lanes,
    }
)
