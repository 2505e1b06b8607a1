"""What a target says about execution scopes and storage classes. A scope binds execution; a class places memory."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto

__all__ = ["Access", "TargetModel"]


class Access(Enum):
    """What a scope may do with a class of storage."""

    LOAD = auto()
    STORE = auto()
    ATOMIC = auto()
    COPY_SOURCE = auto()
    COPY_DESTINATION = auto()
    MMA_OPERAND = auto()


@dataclass(frozen=True)
class TargetModel:
    """Scopes in a containment order, resource classes, and who may do what.

    `contains` lists (outer, inner) pairs; their reflexive and transitive closure is the order. Raises ValueError for
    an empty or undeclared name and for a cycle.
    """

    scopes: frozenset[str]
    contains: frozenset[tuple[str, str]] = frozenset()
    resources: frozenset[str] = frozenset()
    permissions: frozenset[tuple[str, str, Access]] = frozenset()

    def __post_init__(self) -> None:
        if "" in self.scopes | self.resources:
            raise ValueError("scopes and resource classes have names")
        if not {name for pair in self.contains for name in pair} <= self.scopes:
            raise ValueError("the containment order names a scope that the target lacks")
        for scope, resource, _ in self.permissions:
            if scope not in self.scopes or resource not in self.resources:
                raise ValueError(f"the permission of {scope} on {resource} names what the target lacks")
        cycle = next((scope for scope in sorted(self.scopes) if scope in self._below(scope)), None)
        if cycle is not None:
            raise ValueError(f"the scope {cycle} contains itself through others")

    @staticmethod
    def of(
        scopes: Iterable[str],
        contains: Iterable[tuple[str, str]] = (),
        resources: Iterable[str] = (),
        permissions: Iterable[tuple[str, str, Access]] = (),
    ) -> "TargetModel":
        return TargetModel(frozenset(scopes), frozenset(contains), frozenset(resources), frozenset(permissions))

    def is_within(self, inner: str, outer: str) -> bool:
        """Whether `outer` contains `inner`, which every scope does itself."""
        return inner == outer or inner in self._below(outer)

    def permits(self, scope: str, resource: str, access: Access) -> bool:
        """Whether instances of `scope` may do `access` with storage of `resource`."""
        return (scope, resource, access) in self.permissions

    def _below(self, scope: str) -> frozenset[str]:
        """The scopes strictly below `scope`; it is among them exactly when the order has a cycle."""
        found: set[str] = set()
        pending = [scope]
        while pending:
            outer = pending.pop()
            inner = {low for high, low in self.contains if high == outer} - found
            found |= inner
            pending += inner
        return frozenset(found)
