"""Misuse of the text builder is our own bug and says so."""

from tilewright.core.codes.internal import LLVM_TEXT_MISUSE
from tilewright.core.errors import InternalError
from tilewright.core.source import UNKNOWN


def misuse(what: str) -> InternalError:
    """The error to raise for an ill-formed instruction."""
    return InternalError(LLVM_TEXT_MISUSE.at(UNKNOWN, what=what))
