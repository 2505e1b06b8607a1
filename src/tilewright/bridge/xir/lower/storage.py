"""Copies between buffers of one shape."""

from tilewright.bridge.xir.lower.access import load_from_place, store_to_storage
from tilewright.bridge.xir.lower.context import Lowering
from tilewright.bridge.xir.lower.nests import At, copy_nest, run_nest
from tilewright.bridge.xir.records import Storage

__all__ = ["copy_storage"]


def copy_storage(cx: Lowering, source: Storage, target: Storage) -> None:
    """Every element of `source` to the same place of `target`."""

    def body(at: At) -> None:
        point = tuple(at[dim] for dim in target.dims)
        value = load_from_place(cx, source, source.dims, tuple(at[dim] for dim in source.dims))
        store_to_storage(cx, target, target.dims, point, value)

    extents = dict(zip(target.dims, target.extents, strict=True))
    run_nest(cx, copy_nest(cx, target), extents, body)
