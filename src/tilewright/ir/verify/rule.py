"""Rules of the verifier and what they find."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Attribute, Operation

from tilewright.core.codes.internal import MALFORMED_IR
from tilewright.core.codes.types import ILL_TYPED
from tilewright.core.diagnostics import Code, Diagnostic, Label
from tilewright.core.source import Span
from tilewright.ir.listing import Labels, axes_text, type_text
from tilewright.ir.location import span_of
from tilewright.ir.types import DimAttr, SpaceAttr

__all__ = ["Findings", "Rule", "malformed", "op_text", "rule_of", "typed"]

_NOTE = "verifier rule "


@dataclass(frozen=True, slots=True)
class Rule:
    """One condition that every module satisfies. `what` is the message of its violation, a `str.format` template."""

    id: str
    code: Code
    what: str


def typed(rule_id: str, what: str) -> Rule:
    """A rule about types and shapes."""
    return Rule(rule_id, ILL_TYPED, what)


def malformed(rule_id: str, what: str) -> Rule:
    """A rule that only hand-made modules and broken passes can violate."""
    return Rule(rule_id, MALFORMED_IR, what)


@dataclass(slots=True)
class Findings:
    """The diagnostics of one verification, in the order of the walk, in the words of the kernel's labels."""

    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])
    labels: Labels | None = None

    def dim(self, dim: DimAttr) -> str:
        """The user's name of a dimension."""
        return self.labels.of(dim) if self.labels else f"d{dim.number}"

    def type(self, kind: Attribute) -> str:
        """A type in a few characters."""
        return type_text(kind, self.labels)

    def types(self, kinds: Sequence[Attribute]) -> str:
        """Several types; `nothing` for none."""
        return ", ".join(map(self.type, kinds)) or "nothing"

    def space(self, space: SpaceAttr) -> str:
        """A space as `[m:64, k:32]`."""
        return f"[{axes_text(space, self.labels)}]"

    def add(
        self,
        rule: Rule,
        place: Operation | Span,
        *,
        labels: Sequence[Label] = (),
        notes: Sequence[str] = (),
        **values: object,
    ) -> None:
        """Records a violation of `rule` at an operation or span; `values` fill its template."""
        span = span_of(place) if isinstance(place, Operation) else place
        what = rule.what.format(**values)
        found = rule.code.at(
            span, labels=labels, notes=[*notes, _NOTE + rule.id], why=None, help=None, **{**values, "what": what}
        )
        self.diagnostics.append(found)


def op_text(op: Operation) -> str:
    """The operation's name without the dialect: `mma`."""
    return op.name.removeprefix("tile.")


def rule_of(diagnostic: Diagnostic) -> str:
    """The id of the rule that made this diagnostic; empty when no rule did."""
    return next((note.removeprefix(_NOTE) for note in diagnostic.notes if note.startswith(_NOTE)), "")
