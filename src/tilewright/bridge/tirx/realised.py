"""What one pass on the TIRx did, and what it left as it was."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

__all__ = ["Realised"]


@dataclass(frozen=True, slots=True)
class Realised:
    """The function afterwards, how often what was done, and one reason a place that was declined."""

    function: Any
    counters: Mapping[str, int] = field(default_factory=lambda: MappingProxyType(dict[str, int]()))
    declined: tuple[str, ...] = ()
