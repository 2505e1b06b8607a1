"""Rules of manual memory: layouts and access types here, the flow of states in `memory_flow`."""

from tilewright.core.codes.types import NO_STORAGE, UNSAFE_LAYOUT
from tilewright.core.diagnostics import Label
from tilewright.ir.layout import prove
from tilewright.ir.layout_attr import LayoutAttr
from tilewright.ir.location import span_of
from tilewright.ir.ops.memory import MemoryAllocOp, MemoryLoadOp, MemoryStoreOp
from tilewright.ir.types import TileType, memory_type
from tilewright.ir.verify.rule import Findings, Rule, op_text, typed

LAYOUT_DOMAIN = Rule("V-MEM-1", UNSAFE_LAYOUT, "it maps {domain}, but the memory has the space {space}")
LAYOUT_UNSAFE = Rule("V-MEM-2", UNSAFE_LAYOUT, "{reason}")
LOAD_TYPE = typed("V-MEM-3", "memory_load from {memory} gives {result}")
STORE_TYPE = typed("V-MEM-4", "memory_store puts {value} into {memory}")
STORAGE_USED = Rule("V-MEM-5", NO_STORAGE, "{op} accesses {memory}, whose layout has no cells")

RULES = (LAYOUT_DOMAIN, LAYOUT_UNSAFE, LOAD_TYPE, STORE_TYPE, STORAGE_USED)


def check_alloc(op: MemoryAllocOp, found: Findings) -> None:
    """A layout maps the memory's space, and is not disproved as storage."""
    if op.layout is None:
        return
    space = memory_type(op.memory).space
    if op.layout.domain != space:
        found.add(LAYOUT_DOMAIN, op, domain=found.space(op.layout.domain), space=found.space(space))
    if not _lacks_cells(op) or op.memory.first_use is None:
        _check_proof(op, op.layout, found)


def _lacks_cells(alloc: MemoryAllocOp) -> bool:
    """Whether there are elements and no storage at all; the accesses are what is wrong then."""
    return alloc.layout is not None and alloc.layout.codomain.volume == 0 < memory_type(alloc.memory).space.volume


def _check_storage(op: MemoryLoadOp | MemoryStoreOp, found: Findings) -> None:
    alloc = op.memory.owner
    if isinstance(alloc, MemoryAllocOp) and _lacks_cells(alloc):
        label = Label(span_of(alloc), "the memory")
        found.add(STORAGE_USED, op, labels=[label], op=op_text(op), memory=found.type(op.memory.type))


def _check_proof(op: MemoryAllocOp, layout: LayoutAttr, found: Findings) -> None:
    proof = prove(layout.map)
    if proof.is_storage_invalid:
        found.add(LAYOUT_UNSAFE, op, reason=proof.reason)


def check_memory_load(op: MemoryLoadOp, found: Findings) -> None:
    """A load gives a tile of the memory's element and space, and there is storage to read."""
    kind = memory_type(op.memory)
    if op.result.type != TileType(kind.element, kind.space):
        found.add(LOAD_TYPE, op, memory=found.type(kind), result=found.type(op.result.type))
    _check_storage(op, found)


def check_memory_store(op: MemoryStoreOp, found: Findings) -> None:
    """A store takes a tile of the memory's element and space, and there is storage to write."""
    kind = memory_type(op.memory)
    if op.value.type != TileType(kind.element, kind.space):
        found.add(STORE_TYPE, op, memory=found.type(kind), value=found.type(op.value.type))
    _check_storage(op, found)
