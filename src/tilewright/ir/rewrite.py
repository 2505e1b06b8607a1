"""How passes change TileIR: a rewriter that never loses a place, and the runner that verifies after each pass.

This is the only file that builds on xDSL's rewriter, which drops locations.
"""

import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from xdsl.dialects.builtin import LocationAttr, ModuleOp, UnknownLoc
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.core.codes.internal import BROKEN_PASS
from tilewright.core.config import config
from tilewright.core.diagnostics import render
from tilewright.core.errors import InternalError, TilewrightError, during
from tilewright.core.source import UNKNOWN, Span
from tilewright.ir.hash import structural_hash
from tilewright.ir.kernel import Kernel
from tilewright.ir.location import span_of
from tilewright.ir.target import TargetModel
from tilewright.ir.text import print_module
from tilewright.ir.verify import Accepted, verify

__all__ = ["PassRecord", "TilePass", "TileRewriter", "Trace", "run_pipeline"]


class TileRewriter:
    """Changes a module in place. What is new carries the place of what it stands for."""

    def __init__(self) -> None:
        self.changes = 0
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        """Say what was done, or why something was declined: a sentence for `explain`."""
        self.notes.append(text)

    def replace(self, op: Operation, new: Sequence[Operation], values: Sequence[SSAValue] | None = None) -> None:
        """Puts `new` in the place of `op`; its results become `values`, by default the results of the last of `new`.

        Raises InternalError (TW922) when the number or a type of the values does not fit.
        """
        self.insert_before(op, new)
        self.replace_values(op, new[-1].results if values is None else values)

    def replace_values(self, op: Operation, values: Sequence[SSAValue]) -> None:
        """Erases `op`, whose results become existing `values`. Raises InternalError (TW922) when they do not fit."""
        if [value.type for value in values] != [result.type for result in op.results]:
            what = f"replaces {op.name} by {len(values)} values of other types"
            raise InternalError(BROKEN_PASS.at(span_of(op), name="a rewrite", what=what))
        for result, value in zip(op.results, values, strict=True):
            self.replace_uses(result, value)
        self.erase(op)

    def replace_uses(self, old: SSAValue, new: SSAValue) -> None:
        """Every use of `old` becomes one of `new`, which takes over its name when it has none."""
        new.name_hint = new.name_hint or old.name_hint
        old.replace_all_uses_with(new)
        self.changes += 1

    def forward(self, old: SSAValue, new: SSAValue, *, past: Operation | None) -> None:
        """Every use of `old` becomes one of `new`, except in the operation `past`."""
        before = sum(1 for _ in old.uses)
        old.replace_uses_with_if(new, lambda use: use.operation is not past)
        self.changes += before != sum(1 for _ in old.uses)

    def insert_before(self, op: Operation, new: Sequence[Operation]) -> None:
        """Puts `new` before `op`, with its place wherever they have none."""
        for fresh in new:
            _stamp(fresh, op.location)
        Rewriter.insert_op(tuple(new), InsertPoint.before(op))
        self.changes += bool(new)

    def erase(self, op: Operation) -> None:
        """Removes an operation. Raises InternalError (TW922) while a result of it is used."""
        if any(result.first_use is not None for result in op.results):
            raise InternalError(BROKEN_PASS.at(span_of(op), name="a rewrite", what=f"erases the used {op.name}"))
        Rewriter.erase_op(op)
        self.changes += 1


def _stamp(op: Operation, location: LocationAttr) -> None:
    for inner in op.walk():
        if isinstance(inner.location, UnknownLoc):
            inner.location = location


@dataclass(frozen=True)
class TilePass(ABC):
    """Base of all passes from TileIR to TileIR. Subclasses are frozen dataclasses; their fields are their options.

    The docstring of a pass has four headed parts: Requires, Ensures, Rewrites (before → after), Declines when.
    """

    name: ClassVar[str]

    @abstractmethod
    def apply(self, module: ModuleOp, rewriter: TileRewriter) -> None:
        """Changes the module, through the rewriter only."""


@dataclass(frozen=True, slots=True)
class PassRecord:
    """One pass of a run: how many changes it made, how long it took, the structural hash it left, and what it says."""

    name: str
    changes: int
    seconds: float
    digest: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """What a pipeline did, pass by pass."""

    records: tuple[PassRecord, ...]
    digest: str = ""
    """The structural hash of the module at the end."""

    def render(self) -> str:
        """A line for each pass, and under it what the pass says."""
        rows: list[str] = []
        for r in self.records:
            rows.append(f"{r.name:<28} {r.changes:>5} changes  {r.seconds * 1e3:8.2f} ms  {r.digest[:12]}")
            rows += [f"  {note}" for note in r.notes]
        return "\n".join(rows)


def run_pipeline(
    module: ModuleOp, passes: Iterable[TilePass], *, target: TargetModel | None = None, original: Kernel | None = None
) -> Trace:
    """Runs the passes in order on `module`, in place, and verifies after each that changed something.

    `passes` may be made on the way: the next one is asked for when those before it have run. `original` is a kernel
    whose module equals this one and stays as it is; without it a copy is made.

    Raises InternalError (TW922) that names the pass which failed, left an invalid module or lost a place, with a file
    holding the module as that pass received it.
    """
    given = original or Kernel(module.clone(), "")
    digest = given.hash
    records: list[PassRecord] = []
    before: list[TilePass] = []
    unplaced, accepted = set(_unplaced(module)), Accepted()
    for step in passes:
        rewriter, begin = TileRewriter(), time.perf_counter()
        try:
            with during(f"running the pass {step.name}"):
                step.apply(module, rewriter)
        except TilewrightError:
            raise
        except Exception as error:
            blame = _Blame(step.name, f"fails with {type(error).__name__}: {error}", ())
            raise _guilty(blame, UNKNOWN, given, before) from error
        seconds = time.perf_counter() - begin
        if rewriter.changes:
            blame, span = _fault(module, unplaced, step, target, accepted)
            if blame is not None:
                raise _guilty(blame, span, given, before)
            digest = structural_hash(module)
        before.append(step)
        records.append(PassRecord(step.name, rewriter.changes, seconds, digest, tuple(rewriter.notes)))
    return Trace(tuple(records), digest)


@dataclass(frozen=True, slots=True)
class _Blame:
    name: str
    what: str
    notes: tuple[str, ...]


def _fault(
    module: ModuleOp, unplaced: set[Operation], step: TilePass, target: TargetModel | None, accepted: Accepted
) -> tuple[_Blame | None, Span]:
    """What is wrong with what the pass left, and where. `unplaced` had no place before any pass."""
    lost = next((op for op in _unplaced(module) if op not in unplaced), None)
    if lost is not None:
        return _Blame(step.name, f"has no place on a {lost.name} that the pass made", ()), UNKNOWN
    found = verify(module, target, accepted=accepted)
    if not found:
        return None, UNKNOWN
    notes = tuple(render(diagnostic) for diagnostic in found)
    return _Blame(step.name, f"does not verify: {found[0].message}", notes), found[0].span


def _unplaced(module: ModuleOp) -> Iterator[Operation]:
    return (op for op in module.walk() if type(op.location) is UnknownLoc and op is not module)


def _guilty(blame: _Blame, span: Span, given: Kernel, before: Sequence[TilePass]) -> InternalError:
    """The error, after replaying the innocent passes to write down what the guilty one was given."""
    original = given.module.clone()
    for step in before:
        step.apply(original, TileRewriter())
    file = _write_reproducer(blame, original)
    diagnostic = BROKEN_PASS.at(span, name=blame.name, what=blame.what, notes=blame.notes)
    return InternalError(diagnostic, pass_name=blame.name, reproducer=str(file))


def _write_reproducer(blame: _Blame, module: ModuleOp) -> Path:
    folder = config().dump_dir or Path(tempfile.mkdtemp(prefix="tilewright-"))
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{blame.name}.tile"
    reason = " ".join(blame.what.split())
    file.write_text(f"// the pass {blame.name}, given this module, {reason}\n\n{print_module(module, locations=True)}")
    return file
