"""One outcome: what happened when a case ran on a route, in one of eight words."""

import traceback
from dataclasses import dataclass
from pathlib import Path

from tests.cases.bench import LateError, MismatchError, Route
from tests.cases.table import Case, Tag
from tilewright.core.diagnostics import Diagnostic
from tilewright.core.errors import InternalError, TilewrightError

__all__ = ["Outcome", "outcome_of", "passes"]

_HERE = str(Path(__file__).parent)


@dataclass(frozen=True, slots=True)
class Outcome:
    """`word` is RIGHT, REFUSED, WRONG, CRASH, HANG or BAD-REFUSAL."""

    word: str
    code: str = ""
    detail: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.word}({self.code})" if self.code else self.word


def outcome_of(case: Case, route: Route) -> Outcome:
    """Runs a case in this process."""
    try:
        case.run(route)
    except TilewrightError as error:
        return _refusal(case, error)
    except (MismatchError, AssertionError) as error:
        return Outcome("WRONG", detail=str(error) or "".join(traceback.format_exc(limit=-1)))
    except LateError as error:
        return Outcome("BAD-REFUSAL", detail=f"after something was written: {error}")
    except Exception as error:  # noqa: BLE001  what a user would see as a foreign traceback
        return Outcome("BAD-REFUSAL", detail=f"{type(error).__name__}: {error}")
    return Outcome("RIGHT")


def _refusal(case: Case, error: TilewrightError) -> Outcome:
    diagnostic, shown = error.diagnostic, str(error)
    problem = _problem(case, error, diagnostic, shown)
    if problem:
        return Outcome("BAD-REFUSAL", diagnostic.code.id, f"{problem}\n{shown}")
    return Outcome("REFUSED", diagnostic.code.id, shown)


def _problem(case: Case, error: TilewrightError, diagnostic: Diagnostic, shown: str) -> str:
    if isinstance(error, InternalError):
        return "an internal error"
    if not diagnostic.span.file.startswith(_HERE) or diagnostic.span.line < 1:
        return f"it does not point at the line of the kernel or call, but at {diagnostic.span.file}"
    if not (diagnostic.help and diagnostic.why):
        return "it has no help"
    if case.tag is Tag.REFUSE:
        missing = [word for word in case.says if word not in shown]
        if missing:
            return f"it does not say {missing}"
    return ""


def passes(case: Case, outcome: Outcome, waiting_code: str = "") -> bool:
    """Whether this outcome is one the case permits, or the refusal it is waiting with."""
    if outcome.word == "REFUSED":
        return case.tag is not Tag.MUST or outcome.code == waiting_code
    return outcome.word == "RIGHT" and case.tag is not Tag.REFUSE
