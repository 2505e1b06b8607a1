"""Runs passes over a module: verified before the first and after each, places kept, the guilty pass named."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

from xdsl.dialects.builtin import ModuleOp, UnknownLoc

from tilewright.core.codes.internal import XIR_PASS_FAULT
from tilewright.core.errors import InternalError
from tilewright.core.source import UNKNOWN
from tilewright.xir.verify import verify, verify_or_raise

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
    """Applies `passes` in order.

    Raises InternalError: TW942 for a module that is malformed already, TW943 naming the pass that left one so, or that
    left an operation without a place where all had one.
    """
    verify_or_raise(module)
    placed = _unplaced(module) == 0
    records: list[PassRecord] = []
    for step in passes:
        start = perf_counter()
        changed = step.apply(module)
        spent = perf_counter() - start
        if changed:
            _check(module, step.name, placed=placed)
        total = perf_counter() - start
        records.append(PassRecord(step.name, changed, _count(module), spent * 1e3, total * 1e3))
    return tuple(records)


def _check(module: ModuleOp, name: str, *, placed: bool) -> None:
    faults = verify(module)
    if faults:
        what = f"breaks {len(faults)} rules"
        raise InternalError(XIR_PASS_FAULT.at(faults[0].span, name=name, what=what), *faults, pass_name=name)
    unplaced = _unplaced(module) if placed else 0
    if unplaced:
        what = f"has {unplaced} operations without a place"
        raise InternalError(XIR_PASS_FAULT.at(UNKNOWN, name=name, what=what), pass_name=name)


def _unplaced(module: ModuleOp) -> int:
    functions = module.body.block.ops
    return sum(isinstance(op.location, UnknownLoc) for function in functions for op in function.walk())


def _count(module: ModuleOp) -> int:
    return sum(1 for _ in module.walk())
