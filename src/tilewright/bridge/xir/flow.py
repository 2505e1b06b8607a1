"""How the elements of a tile reach the operations that read them, through tiles that are recomputed where they are
used.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue, Use

from tilewright.ir.ops import regions, tiles
from tilewright.ir.types import is_tile

__all__ = ["ACCUMULATOR", "Read", "anchor_of", "following", "is_anchored", "reads_of", "tile_operands"]

ACCUMULATOR = 2
"""The position of `c` among the operands of an `mma`."""


@dataclass(frozen=True, slots=True)
class Read:
    """One reading of a tile by an operation of a region body.

    `operand` is the position of the operand through which it is read, -1 from inside the body of a map or scan.
    `displaced` says that the element read may be another one than the element computed: maps choose, scans and
    products combine.
    """

    op: Operation
    operand: int
    displaced: bool


def following(op: Operation) -> Iterator[Operation]:
    """What comes after an operation in its block."""
    after = op.next_op
    while after is not None:
        yield after
        after = after.next_op


def anchor_of(op: Operation) -> Operation:
    """The outermost map or scan around an operation, or the operation itself."""
    anchor = op
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, regions.KernelOp):
        if isinstance(parent, tiles.MapOp | tiles.ScanOp):
            anchor = parent
        parent = parent.parent_op()
    return anchor


def is_anchored(op: Operation) -> bool:
    """Whether the operation stands directly in a region body, not inside a map or scan."""
    return anchor_of(op) is op


def reads_of(value: SSAValue, is_inline: Callable[[SSAValue], bool]) -> tuple[Read, ...]:
    """Every reading of a tile, each once. Inline tiles pass what they read on to their own readers."""
    found: dict[Read, None] = {}
    pending: dict[tuple[SSAValue, bool], None] = {(value, False): None}
    done: set[tuple[SSAValue, bool]] = set()
    while pending:
        source, displaced = state = pending.popitem()[0]
        done.add(state)
        for use in source.uses:
            read = _read(use, displaced=displaced)
            passed = _passed_on(read.op, is_inline)
            if passed is None:
                found[read] = None
            elif (passed, read.displaced) not in done:
                pending[passed, read.displaced] = None
    return tuple(found)


def _read(use: Use, *, displaced: bool) -> Read:
    anchor = anchor_of(use.operation)
    inside = anchor is not use.operation
    combines = isinstance(anchor, tiles.MmaOp) and use.index != ACCUMULATOR
    elsewhere = inside or combines or isinstance(anchor, tiles.MapOp | tiles.ScanOp)
    return Read(anchor, -1 if inside else use.index, displaced or elsewhere)


def _passed_on(op: Operation, is_inline: Callable[[SSAValue], bool]) -> SSAValue | None:
    results = op.results
    return results[0] if len(results) == 1 and is_tile(results[0]) and is_inline(results[0]) else None


def tile_operands(op: Operation) -> tuple[SSAValue, ...]:
    """The tiles that an operation reads from outside, those read in its regions included, each once."""
    return tuple(dict.fromkeys(value for value in _tiles_read(op) if not _defined_inside(value, op)))


def _tiles_read(op: Operation) -> Iterator[SSAValue]:
    for inner in op.walk():
        yield from (value for value in inner.operands if is_tile(value))


def _defined_inside(value: SSAValue, op: Operation) -> bool:
    owner = value.owner
    start = owner if isinstance(owner, Operation) else owner.parent_op()
    return start is not None and start is not op and op.is_ancestor(start)
