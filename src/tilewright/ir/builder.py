"""Appends operations to a block, each with the place it was written at."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeVar

from xdsl.ir import Block, Operation

from tilewright.core.source import Span
from tilewright.ir.location import location_of

__all__ = ["TileBuilder"]

OpT = TypeVar("OpT", bound=Operation)


class TileBuilder:
    """The insertion point of a capture: always the end of `block`."""

    def __init__(self, block: Block) -> None:
        self.block = block

    def insert(self, op: OpT, span: Span) -> OpT:
        """Appends `op`, stamped with `span`, and returns it."""
        op.location = location_of(span)
        self.block.add_op(op)
        return op

    @contextmanager
    def at(self, block: Block) -> Generator[None]:
        """Appends to `block` for the duration of the context."""
        outer, self.block = self.block, block
        try:
            yield
        finally:
            self.block = outer
