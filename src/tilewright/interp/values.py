"""What an SSA value is at run time, and how values of different spaces meet."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from tilewright.core.codes.internal import MALFORMED_IR
from tilewright.core.dtypes import DType
from tilewright.core.errors import InternalError
from tilewright.ir.location import span_of
from tilewright.ir.types import SpaceAttr, dtype_of, element_of
from tilewright.numerics.arrays import Array, numpy_dtype

__all__ = ["Array", "Cells", "dtype_of_value", "empty", "integer", "project"]


@dataclass(frozen=True, slots=True)
class Cells:
    """A scalar or tile: `data` has the value's own axes, after one leading axis of lanes when `varying`.

    A lane is one point of the enclosing maps. A value that is the same for all of them does not vary.
    """

    data: Array
    varying: bool = False


def dtype_of_value(value: SSAValue) -> type[DType]:
    """The element type of a scalar or tile."""
    return dtype_of(element_of(value))


def empty(value: SSAValue, shape: tuple[int, ...]) -> Array:
    """Fresh uninitialised storage for elements of a scalar or tile."""
    return np.empty(shape, numpy_dtype(dtype_of_value(value)))


def project(cells: Cells, own: SpaceAttr, onto: SpaceAttr) -> Array:
    """The data of `cells`, a value over `own`, with the axes of `onto` in its order, ready to broadcast.

    Axes meet by dimension identity; a missing one has extent 1 here. Lanes stay in front.
    """
    if own.dims == onto.dims:
        return cells.data
    lead = 1 if cells.varying else 0
    kept = [dim for dim in onto.dims if dim in own.dims]
    order = (*range(lead), *(lead + own.dims.index(dim) for dim in kept))
    extents = tuple(own.extent_of(dim) or 0 if dim in own.dims else 1 for dim in onto.dims)
    return cells.data.transpose(order).reshape(cells.data.shape[:lead] + extents)


def integer(cells: Cells, value: SSAValue) -> int:
    """The number in an integer scalar that is the same in all lanes."""
    data: Any = cells.data
    if data.size != 1:
        raise InternalError(MALFORMED_IR.at(span_of(value), what="an access inside a map depends on its point"))
    return int(data.item())
