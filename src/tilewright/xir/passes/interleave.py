"""`interleave`: chains of vector operations that do not need each other are written step by step, in turns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tilewright.xir import ops
from tilewright.xir.catalogue import PURE, READS
from tilewright.xir.memory import Region, read_region, written_regions
from tilewright.xir.rewrite import bodies
from tilewright.xir.rules import bits as bits_of
from tilewright.xir.types import I1, is_vector, lanes_of, scalar_of

__all__ = ["Interleave"]

_LONG = 12  # operations of a chain from which on a processor does not see the next one while it waits
_TURNS = (4, 2)  # chains at once, most first
_WIDE_BITS = 512  # vectors of this size have 32 registers, shorter ones are taken to have 16

Chain = tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class Interleave:
    """Requires: a verified module.

    Ensures: the same operations in each block, in an order in which every value is defined before its uses.
    Rewrites: `a1; a2; a3; b1; b2; b3` -> `a1; b1; a2; b2; a3; b3` for two or four chains of the same long form whose
    values fit the registers. A processor looks ahead only so far: while it waits in one chain, it works in the others.
    Declines: short chains; chains of different form; those with effects between them, but for stores that nothing
    after them reads, which come last; those whose values would not fit.
    """

    name: str = "interleave"

    def apply(self, module: ModuleOp) -> int:
        return sum(_interleaved(block) for body in bodies(module) for block in _blocks(body))


def _blocks(body: Block) -> Iterator[Block]:
    yield body
    for op in body.ops:
        for region in op.regions:
            for block in region.blocks:
                yield from _blocks(block)


def _interleaved(block: Block) -> int:
    """How many chains of the block take turns."""
    return sum(_Run(block, run).rewrite() for run in _runs(block) if len(run) >= 2 * _LONG)


def _runs(block: Block) -> Iterator[list[Operation]]:
    """Operations in a row whose stores may all come last: none of them writes what a load after it reads."""
    run: list[Operation] = []
    written: set[Region] = set()
    for op in list(block.ops):
        kind = type(op)
        reads = isinstance(op, ops.LoadOp | ops.GatherOp) and read_region(op) in written
        if reads or not (kind in PURE or kind in READS or kind is ops.StoreOp):
            yield run
            run, written = [], set()
        if kind in PURE or kind in READS or kind is ops.StoreOp:
            run.append(op)
            written |= written_regions(op)
    yield run


class _Run:
    """Such operations. Constants stay where they are, at the head of a function."""

    def __init__(self, block: Block, run: Sequence[Operation]) -> None:
        self._block, self._end = block, run[-1].next_op
        self._ops = [op for op in run if not isinstance(op, arith.ConstantOp | ops.StoreOp)]
        self._stores = [op for op in run if isinstance(op, ops.StoreOp)]
        self._inside = set(self._ops)

    def rewrite(self) -> int:
        chains = [each for each in self._chains() if len(each) >= _LONG]
        turns = [group for form in _alike(chains) for group in _in_turns(form)]
        if turns:
            together = {op for group in turns for each in group for op in each}
            self._arrange([op for op in self._ops if op not in together], turns)
        return sum(map(len, turns))

    def _chains(self) -> list[Chain]:
        """For each result that only stores and what follows the run need: what only it needs, but for indices."""
        owner: dict[Operation, int | None] = {}
        stores = set(self._stores)
        for number, op in enumerate(reversed(self._ops)):
            users = {use.operation for result in op.results for use in result.uses} - stores
            found = {owner[user] if user in self._inside else number for user in users} or {number}
            owner[op] = found.pop() if len(found) == 1 else None
        members: dict[int, list[Operation]] = {}
        scalars: set[Operation] = set()
        for op in self._ops:
            place, inner = owner[op], {value.owner for value in op.operands} & self._inside
            if inner <= scalars and not any(is_vector(result.type) for result in op.results):
                scalars.add(op)
            elif place is not None:
                members.setdefault(place, []).append(op)
        return list(map(tuple, members.values()))

    def _arrange(self, others: Sequence[Operation], turns: Sequence[Sequence[Chain]]) -> None:
        """What several chains need first, then the chains that take turns, then what is left, and the stores."""
        first, left = self._needed(others, turns)
        woven = [op for group in turns for step in zip(*group, strict=True) for op in step]
        for op in (*first, *woven, *left, *self._stores):
            op.detach()
            if self._end is None:
                self._block.add_op(op)
            else:
                self._block.insert_op_before(op, self._end)

    def _needed(
        self, others: Sequence[Operation], turns: Sequence[Sequence[Chain]]
    ) -> tuple[list[Operation], list[Operation]]:
        """Of the other operations those on which chains depend, and the rest, which may depend on chains."""
        wanted = {value.owner for group in turns for each in group for op in each for value in op.operands}
        first: list[Operation] = []
        for op in reversed(others):
            if op in wanted:
                first.append(op)
                wanted.update(value.owner for value in op.operands)
        chosen = set(first)
        return first[::-1], [op for op in others if op not in chosen]


def _alike(chains: Sequence[Chain]) -> Iterator[list[Chain]]:
    """Neighbouring chains of the same operations on the same types."""
    for _, found in groupby(chains, lambda each: [(type(op), op.results[0].type) for op in each]):
        yield list(found)


def _in_turns(chains: Sequence[Chain]) -> Iterator[Sequence[Chain]]:
    """Groups of chains whose values fit the registers; nothing of what is left."""
    start, most = 0, _fitting(chains[0])
    for count in _TURNS:
        while count <= most and len(chains) - start >= count:
            yield chains[start : start + count]
            start += count


def _fitting(chain: Chain) -> int:
    """How many copies of what lives in a chain at once fit the registers, beside what it reads from outside."""
    sizes = {value: _bits(value) for op in chain for value in (*op.operands, *op.results)}
    last = {value: number for number, op in enumerate(chain) for value in op.operands}
    made = {result for op in chain for result in op.results}
    living = most = 0
    for number, op in enumerate(chain):
        ended = {value for value in op.operands if value in made and last[value] == number}
        living += sum(sizes[result] for result in op.results) - sum(sizes[value] for value in ended)
        most = max(most, living)
    widest = max(sizes.values())
    size, registers = (_WIDE_BITS, 32) if widest % _WIDE_BITS == 0 else (widest, 16)
    outside = sum(bits for value, bits in sizes.items() if value not in made)
    return (size * registers - outside) // max(most, 1)


def _bits(value: SSAValue) -> int:
    """Of a vector; masks have registers of their own, and so have scalars."""
    lanes, scalar = lanes_of(value.type), scalar_of(value.type)
    return 0 if lanes == 1 or scalar == I1 else lanes * bits_of(scalar)
