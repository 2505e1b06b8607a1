"""The caller's arrays as storage: real addresses, so that aliases are one thing, and what was never written."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any, cast

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided

from tilewright.core.dtypes import DType

from .values import Array

__all__ = ["Argument", "Index", "Pool", "pools", "position"]

Index = tuple[slice, ...] | tuple[Array, ...]


@dataclass(eq=False, slots=True)
class Pool:
    """Arguments that overlap in memory. Notes about its cells are flat arrays over `size` units of `unit` bytes.

    With an argument alone (`packed`) notes follow its elements, however far they lie apart.
    """

    address: int
    unit: int
    size: int
    packed: bool = False
    unwritten: Array | None = None

    def over(self, flat: Array, argument: "Argument") -> Array:
        """The notes of `flat` on the cells of an argument: its own axes, then one for the units of an element."""
        data = argument.data
        if self.packed:
            return flat.reshape(*data.shape, 1)
        units = max(data.itemsize // self.unit, 1)
        steps = tuple(step // self.unit * flat.itemsize for step in data.strides)
        origin = (data.__array_interface__["data"][0] - self.address) // self.unit
        return as_strided(flat[origin:], (*data.shape, units), (*steps, flat.itemsize))


@dataclass(eq=False, slots=True)
class Argument:
    """One array that a kernel parameter is bound to."""

    name: str
    dtype: type[DType]
    data: Array
    pool: Pool

    def read(self, index: Index) -> Array:
        """The elements at `index`. A byte of a boolean is true when it is not zero."""
        found = self.data[index]
        return found if self.data.dtype != np.bool_ else found.view(np.uint8) != 0

    def poison(self) -> None:
        """Declares the contents meaningless."""
        if self.dtype.is_float:
            self.data[...] = np.nan
        if self.pool.unwritten is None:
            self.pool.unwritten = np.zeros(self.pool.size, np.bool_)
        self.pool.over(self.pool.unwritten, self)[...] = True

    def first_unwritten(self, index: Index, live: Array | None) -> tuple[int, ...] | None:
        """The first element at `index` (where `live`) that was never written."""
        flat = self.pool.unwritten
        if flat is None:
            return None
        bad = self.pool.over(flat, self)[index].any(axis=-1)
        return position(index, np.asarray(bad if live is None else bad & live))

    def wrote(self, index: Index, live: Array | None) -> None:
        """Remembers that the elements at `index` (where `live`) hold something now."""
        flat = self.pool.unwritten
        if flat is not None:
            notes = self.pool.over(flat, self)
            notes[index] = False if live is None else notes[index] & ~live[..., None]


def position(index: Index, where: Array) -> tuple[int, ...] | None:
    """The element of the argument at the first true place of `where`, an array over the selection `index`."""
    found = np.argwhere(where)
    if not len(found):
        return None
    first = tuple(int(i) for i in found[0])
    if not index or isinstance(index[0], slice):
        boxes = cast("tuple[slice, ...]", index)
        return tuple(int(box.start) + i for box, i in zip(boxes, first, strict=True))
    points = cast("tuple[Array, ...]", index)
    return tuple(int(axis[first]) for axis in points)


def pools(arrays: Sequence[Array]) -> list[Pool]:
    """The pool of every array: arrays whose byte ranges overlap share one."""
    bounds: list[tuple[int, int]] = [_bounds(array) for array in arrays]
    order = sorted(range(len(arrays)), key=lambda i: bounds[i])
    groups: list[list[int]] = []
    end = -1
    for i in order:
        low, high = bounds[i]
        if groups and low < end:
            groups[-1].append(i)
        else:
            groups.append([i])
        end = max(end, high)
    found: dict[int, Pool] = {}
    for group in groups:
        pool = _pool([arrays[i] for i in group], bounds[group[0]][0], max(bounds[i][1] for i in group))
        found.update(dict.fromkeys(group, pool))
    return [found[i] for i in range(len(arrays))]


def _bounds(array: Array) -> tuple[int, int]:
    low, high = byte_bounds(array)
    return (low, high) if array.size else (low, low)


def _pool(arrays: Sequence[Array], low: int, high: int) -> Pool:
    """The unit divides every element size, offset and stride, so that cells fall on whole units."""
    if len(arrays) == 1:
        return Pool(low, arrays[0].itemsize, arrays[0].size, packed=True)
    unit = 0
    for array in arrays:
        steps: tuple[Any, ...] = array.strides
        address = int(array.__array_interface__["data"][0])
        unit = gcd(unit, array.itemsize, address - low, *(int(step) for step in steps))
    return Pool(low, max(unit, 1), -(-(high - low) // max(unit, 1)))
