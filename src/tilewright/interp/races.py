"""Who touched which cell: the independence that `parallel` promises, watched."""

from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from xdsl.ir import Operation

from .storage import Argument, Index, Pool, position
from .values import Array

__all__ = ["Access", "Conflict", "Tracker"]

_SITES = 1 << 20


class Access(Enum):
    """How an operation touches a cell. Updates of one cell by several instances are fine among themselves."""

    READ = "reads"
    WRITE = "writes"
    UPDATE = "updates"


@dataclass(frozen=True, slots=True)
class Conflict:
    """Instance `other` touched the cell before, at `site` and as `how`."""

    index: tuple[int, ...]
    other: int
    site: Operation
    how: Access


@dataclass(eq=False, slots=True)
class Tracker:
    """One run of one `parallel`. Each cell remembers the first access of each kind, as instance and site.

    That is enough: instances run one after the other, so what another one did to a cell came before.
    """

    _touched: dict[tuple[Pool, Access], Array] = field(default_factory=dict[tuple[Pool, Access], Array])
    _seen: dict[tuple[Argument, Access], Array] = field(default_factory=dict[tuple[Argument, Access], Array])
    _sites: list[Operation] = field(default_factory=list[Operation])
    _numbers: dict[Operation, int] = field(default_factory=dict[Operation, int])

    def touch(
        self, argument: Argument, index: Index, live: Array | None, how: Access, instance: int, site: Operation
    ) -> Conflict | None:
        """Records that `instance` touches the elements at `index` (where `live`); what it collides with, if anything.

        `argument` may share cells with others: notes are kept by address.
        """
        for other in Access:
            if Access.WRITE in (how, other) or {how, other} == {Access.READ, Access.UPDATE}:
                found = self._conflict(argument, other, index, live, instance)
                if found is not None:
                    return found
        mark = (instance + 1) * _SITES + self._number(site)
        notes = self._notes(argument, how)
        seen = notes[index]
        fresh = seen == 0 if live is None else (seen == 0) & live[..., None]
        notes[index] = np.where(fresh, mark, seen)
        return None

    def _notes(self, argument: Argument, how: Access) -> Array:
        """The first access of a kind to each cell of `argument`."""
        known = self._seen.get((argument, how))
        if known is None:
            pool = argument.pool
            flat = self._touched.setdefault((pool, how), np.zeros(pool.size, np.int64))
            known = self._seen[argument, how] = pool.over(flat, argument)
        return known

    def _conflict(
        self, argument: Argument, how: Access, index: Index, live: Array | None, instance: int
    ) -> Conflict | None:
        """The first element with an access of this kind by another instance."""
        if (argument.pool, how) not in self._touched:
            return None
        seen = self._notes(argument, how)[index]
        others = (seen != 0) & (seen // _SITES != instance + 1)
        where = others.any(axis=-1)
        if live is not None:
            where &= live
        cell = position(index, where)
        if cell is None:
            return None
        place = tuple(np.argwhere(where)[0])
        mark = int(seen[place][others[place]][0])
        return Conflict(cell, mark // _SITES - 1, self._sites[mark % _SITES], how)

    def _number(self, site: Operation) -> int:
        if site not in self._numbers:
            self._numbers[site] = len(self._sites)
            self._sites.append(site)
        return self._numbers[site]
