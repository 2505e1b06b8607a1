"""Instruction flags, always explicit. `contract` and `fast` cannot be spelled: fusing is written as `llvm.fma`."""

from functools import cache

from tilewright.backends.llvm.faults import misuse
from tilewright.backends.llvm.types import Kind

Flags = frozenset[str]

NONE: Flags = frozenset()
NSW: Flags = frozenset({"nsw"})
NUW: Flags = frozenset({"nuw"})
NO_WRAP: Flags = frozenset({"nsw", "nuw"})
EXACT: Flags = frozenset({"exact"})
DISJOINT: Flags = frozenset({"disjoint"})
NON_NEGATIVE: Flags = frozenset({"nneg"})
REASSOCIATE: Flags = frozenset({"reassoc"})
NO_NANS: Flags = frozenset({"nnan"})

_ALLOWED = {
    Kind.INTEGER: frozenset({"nsw", "nuw", "exact", "disjoint", "nneg", "samesign"}),
    Kind.FLOAT: frozenset({"nnan", "ninf", "nsz", "arcp", "afn", "reassoc"}),
}


@cache
def spelled(flags: Flags, kind: Kind) -> str:
    """The flags as text with a trailing blank; raises InternalError for one the kind of instruction must not carry."""
    refused = flags - _ALLOWED[kind]
    if refused:
        raise misuse(f"flag {sorted(refused)} on a {kind.name.lower()} instruction")
    return "".join(f"{flag} " for flag in sorted(flags))
