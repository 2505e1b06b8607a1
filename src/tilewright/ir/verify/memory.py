"""Rules of manual memory: layouts and access types here, the flow of states in `memory_flow`."""

from tilewright.core.codes.types import UNSAFE_LAYOUT
from tilewright.ir.layout import prove
from tilewright.ir.layout_attr import LayoutAttr
from tilewright.ir.ops.memory import MemoryAllocOp, MemoryLoadOp, MemoryStoreOp
from tilewright.ir.types import TileType, memory_type
from tilewright.ir.verify.rule import Findings, Rule, typed

LAYOUT_DOMAIN = Rule("V-MEM-1", UNSAFE_LAYOUT, "it maps {domain}, but the memory has the space {space}")
LAYOUT_UNSAFE = Rule("V-MEM-2", UNSAFE_LAYOUT, "{reason}")
LOAD_TYPE = typed("V-MEM-3", "memory_load from {memory} gives {result}")
STORE_TYPE = typed("V-MEM-4", "memory_store puts {value} into {memory}")

RULES = (LAYOUT_DOMAIN, LAYOUT_UNSAFE, LOAD_TYPE, STORE_TYPE)


def check_alloc(op: MemoryAllocOp, found: Findings) -> None:
    """A layout maps the memory's space, and is not disproved as storage."""
    if op.layout is None:
        return
    space = memory_type(op.memory).space
    if op.layout.domain != space:
        found.add(LAYOUT_DOMAIN, op, domain=found.space(op.layout.domain), space=found.space(space))
    _check_proof(op, op.layout, found)


def _check_proof(op: MemoryAllocOp, layout: LayoutAttr, found: Findings) -> None:
    proof = prove(layout.map)
    if proof.is_storage_invalid:
        found.add(LAYOUT_UNSAFE, op, reason=proof.reason)


def check_memory_load(op: MemoryLoadOp, found: Findings) -> None:
    """A load gives a tile of the memory's element and space."""
    kind = memory_type(op.memory)
    if op.result.type != TileType(kind.element, kind.space):
        found.add(LOAD_TYPE, op, memory=found.type(kind), result=found.type(op.result.type))


def check_memory_store(op: MemoryStoreOp, found: Findings) -> None:
    """A store takes a tile of the memory's element and space."""
    kind = memory_type(op.memory)
    if op.value.type != TileType(kind.element, kind.space):
        found.add(STORE_TYPE, op, memory=found.type(kind), value=found.type(op.value.type))
