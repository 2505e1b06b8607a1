"""Numbers among the arguments of a direct call: copied at every call, and never part of what is compiled."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy import ndarray

from tilewright.core.abi import KernelArgument
from tilewright.lang.annotations import ScalarAnnotation
from tilewright.lang.signature import KernelSignature
from tilewright.numerics.arrays import Array
from tilewright.numerics.scalars import packed

__all__ = ["Numbers"]


@dataclass(frozen=True, slots=True)
class Numbers:
    """The places of the positional arguments that are numbers."""

    places: frozenset[int]

    @staticmethod
    def of(signature: KernelSignature) -> "Numbers":
        kinds = enumerate(parameter.annotation for parameter in signature.parameters)
        return Numbers(frozenset(place for place, kind in kinds if isinstance(kind, ScalarAnnotation)))

    def look(self, arguments: Sequence[Any], look: Callable[[Any], object]) -> object | None:
        """What a call looks like: arrays by `look`, numbers by their class. None when something is absent.

        Raises AttributeError where `look` does.
        """
        if any(argument is None for argument in arguments):
            return None
        looks: list[object] = [None if place in self.places else look(each) for place, each in enumerate(arguments)]
        for place in self.places:
            looks[place] = arguments[place].__class__
        return tuple(looks)

    def are_alone(self, arguments: Sequence[Any]) -> bool:
        """Whether everything else is a NumPy array or absent."""
        others = [argument for place, argument in enumerate(arguments) if place not in self.places]
        return all(argument is None or type(argument) is ndarray for argument in others)

    def memory(self, arguments: Sequence[Any], described: Sequence[KernelArgument]) -> list[Array] | None:
        """The arguments with every number packed; None when one is no value of its type."""
        found = list(arguments)
        for place in self.places:
            found[place] = packed(arguments[place], described[place].element)
            if found[place] is None:
                return None
        return found
