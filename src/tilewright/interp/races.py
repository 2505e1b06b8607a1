"""Who touched which cell: the independence that `parallel` promises, watched."""

from dataclasses import dataclass, field
from enum import Enum
from typing import cast

import numpy as np
from xdsl.ir import Operation

from .storage import Argument, Index, Pool, position
from .values import Array

__all__ = ["Access", "Conflict", "Tracker"]

Notes = tuple[Array, Array]
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
    """One run of one `parallel`. Each cell remembers the first and the last access of a kind, as instance and site.

    Instances run one after the other, so two accesses of one kind by different instances differ in first and last.
    """

    _touched: dict[tuple[Pool, Access], Notes] = field(default_factory=dict[tuple[Pool, Access], Notes])
    _seen: dict[tuple[Argument, Access], Notes] = field(default_factory=dict[tuple[Argument, Access], Notes])
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
                for notes in self._notes(argument, other, create=False):
                    found = self._conflict(notes, index, live, instance)
                    if found is not None:
                        return Conflict(found[0], found[1], self._sites[found[2]], other)
        mark = (instance + 1) * _SITES + self._number(site)
        first, last = cast(Notes, self._notes(argument, how, create=True))
        seen = first[index]
        fresh = seen == 0 if live is None else (seen == 0) & live[..., None]
        first[index] = np.where(fresh, mark, seen)
        last[index] = mark if live is None else np.where(live[..., None], mark, last[index])
        return None

    def _notes(self, argument: Argument, how: Access, *, create: bool) -> Notes | tuple[()]:
        """First and last access of a kind, over the cells of `argument`."""
        known = self._seen.get((argument, how))
        if known is not None:
            return known
        pool = argument.pool
        flats = self._touched.get((pool, how))
        if flats is None:
            if not create:
                return ()
            flats = self._touched[pool, how] = (np.zeros(pool.size, np.int64), np.zeros(pool.size, np.int64))
        views = self._seen[argument, how] = (pool.over(flats[0], argument), pool.over(flats[1], argument))
        return views

    @staticmethod
    def _conflict(
        notes: Array, index: Index, live: Array | None, instance: int
    ) -> tuple[tuple[int, ...], int, int] | None:
        """The first element with a note of another instance: where, which instance, which site."""
        seen = notes[index]
        others = (seen != 0) & (seen // _SITES != instance + 1)
        where = others.any(axis=-1)
        if live is not None:
            where &= live
        cell = position(index, where)
        if cell is None:
            return None
        place = tuple(np.argwhere(where)[0])
        mark = int(seen[place][others[place]][0])
        return cell, mark // _SITES - 1, mark % _SITES

    def _number(self, site: Operation) -> int:
        if site not in self._numbers:
            self._numbers[site] = len(self._sites)
            self._sites.append(site)
        return self._numbers[site]
