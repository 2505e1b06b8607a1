"""Storage of no cells: legal for a memory of no elements, refused where an element is accessed."""

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.unit.ir.making import Make, space, tile, view
from tilewright.core.dtypes import f32
from tilewright.core.errors import TileTypeError
from tilewright.ir.index_expr import coordinate
from tilewright.ir.index_map import IndexMap
from tilewright.ir.layout_attr import LayoutAttr
from tilewright.ir.ops.memory import MemoryAllocOp, MemoryLoadOp, MemoryStoreOp
from tilewright.ir.types import DimAttr, MemoryType, element_attr
from tilewright.ir.verify import verify, verify_or_raise


def made(elements: int, *, cells: int, accessed: bool) -> ModuleOp:
    """A memory of so many elements and cells, written and read by hand-made operations or left alone."""
    domain = space((0, elements))
    layout = LayoutAttr.of(IndexMap(domain, space((9, cells)), (coordinate(DimAttr.of(0)),)))
    m = Make(view((5, 8)), labels={0: "m", 9: "cell"})
    with m.parallel((3, 1)):
        alloc = m.put(MemoryAllocOp(MemoryType(element_attr(f32), domain), layout=layout))
        if accessed:
            state = m.put(MemoryStoreOp(alloc.memory, alloc.state, m.splat(tile((0, elements))))).result
            m.put(MemoryLoadOp(alloc.memory, state))
    return m.done()


def test_zero_sized_storage_that_is_accessed_is_refused() -> None:
    with pytest.raises(TileTypeError, match=r"TW284.*zero-sized storage is still used: memory_store") as caught:
        verify_or_raise(made(4, cells=0, accessed=True))
    assert [found.code.id for found in caught.value.diagnostics] == ["TW284", "TW284"]
    assert "memory_load accesses memory f32[m:4]" in str(caught.value)


def test_zero_sized_storage_for_elements_is_no_layout_even_unused() -> None:
    (found,) = verify(made(4, cells=0, accessed=False))
    assert found.code.id == "TW281"


def test_an_empty_memory_needs_no_storage() -> None:
    assert not verify(made(0, cells=0, accessed=True))
