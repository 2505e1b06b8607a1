"""Lists, dictionaries and sets that a region must not change in place: they are not carried."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from tilewright.core.codes.capture import CONTAINER_CHANGED
from tilewright.core.errors import CaptureError
from tilewright.lang.context import Arm, Frame
from tilewright.lang.pytrees import holds_staged

__all__ = ["BOTH_ARMS", "Containers"]

BOTH_ARMS = "both arms run at capture, so what is changed in place would be changed whichever arm is taken"


@dataclass(frozen=True, slots=True)
class Containers:
    """The containers that variables hold on entry, with what was in them."""

    entries: tuple[tuple[str, object, tuple[object, ...]], ...] = ()

    @staticmethod
    def of(variables: Mapping[str, object]) -> "Containers":
        found = [(name, value, _items(value)) for name, value in variables.items() if type(value) in (list, dict, set)]
        return Containers(tuple(found))

    def check(self, place: Frame | Arm) -> None:
        """Raises CaptureError (TW120) when one is not what it was; after a region only when it holds staged values."""
        for name, value, before in self.entries:
            now = _items(value)
            same = len(now) == len(before) and all(a is b for a, b in zip(now, before, strict=True))
            if not same and (isinstance(place, Arm) or holds_staged(list(now)) or holds_staged(list(before))):
                kind, region = type(value).__name__, place.describe()
                why = BOTH_ARMS if isinstance(place, Arm) else None
                raise CaptureError(CONTAINER_CHANGED.at(place.span, name=name, kind=kind, region=region, why=why))


def _items(container: object) -> tuple[object, ...]:
    if isinstance(container, dict):
        table = cast("dict[object, object]", container)
        return (*table.keys(), *table.values())
    return tuple(cast("list[object]", container))
