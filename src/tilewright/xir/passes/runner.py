"""Runs passes over a verified module: verified again after each, places kept, the guilty pass named."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

from xdsl.dialects.builtin import LocationAttr, ModuleOp, UnknownLoc
from xdsl.ir import Block

from tilewright.core.codes.internal import XIR_PASS_FAULT
from tilewright.core.errors import InternalError
from tilewright.core.source import UNKNOWN
from tilewright.xir.verify import verify

__all__ = ["PassRecord", "XirPass", "run_pipeline"]


class XirPass(Protocol):
    """A change of XIR. Its docstring says what it Requires, Ensures, Rewrites and Declines."""

    @property
    def name(self) -> str: ...

    def apply(self, module: ModuleOp) -> int:
        """Changes `module` in place; returns how many places changed."""
        ...


@dataclass(frozen=True, slots=True)
class PassRecord:
    """What one pass did: places changed, operations left, milliseconds without and with verification."""

    name: str
    changed: int
    operations: int
    milliseconds: float
    verified_milliseconds: float


def run_pipeline(module: ModuleOp, passes: Sequence[XirPass]) -> tuple[PassRecord, ...]:
    """Applies `passes` in order to a verified module.

    Raises InternalError (TW943) naming the pass that left a malformed module, or that left an operation without a place
    where all had one.
    """
    count, unplaced = _census(module)
    placed = unplaced == 0
    records: list[PassRecord] = []
    for step in passes:
        start = perf_counter()
        changed = step.apply(module)
        spent = perf_counter() - start
        if changed:
            count = _check(module, step.name, placed=placed)
        total = perf_counter() - start
        records.append(PassRecord(step.name, changed, count, spent * 1e3, total * 1e3))
    return tuple(records)


def _check(module: ModuleOp, name: str, *, placed: bool) -> int:
    """How many operations a pass has left; raises as `run_pipeline` says."""
    faults = verify(module)
    if faults:
        what = f"breaks {len(faults)} rules"
        raise InternalError(XIR_PASS_FAULT.at(faults[0].span, name=name, what=what), *faults, pass_name=name)
    count, unplaced = _census(module)
    if placed and unplaced:
        what = f"has {unplaced} operations without a place"
        raise InternalError(XIR_PASS_FAULT.at(UNKNOWN, name=name, what=what), pass_name=name)
    return count


def _census(module: ModuleOp) -> tuple[int, int]:
    """How many operations there are, with the module, and how many of them in functions have no place."""
    locations: list[type[LocationAttr]] = []
    _add_locations(module.body.block, locations)
    return 1 + len(locations), locations.count(UnknownLoc)


def _add_locations(block: Block, found: list[type[LocationAttr]]) -> None:
    for op in block.ops:
        found.append(type(op.location))
        for region in op.regions:
            for inner in region.blocks:
                _add_locations(inner, found)
