"""A whole product as one call. What TileIR proved is proved again on the loops, and no note is believed."""

from collections.abc import Sequence
from typing import Any

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.providers.choices import CBLAS_MATMUL
from tilewright.bridge.tirx.providers.product import VERSION, WholeProduct
from tilewright.bridge.tirx.providers.product_loops import objection_to_product

__all__ = ["call_for", "with_contract"]

_VERSION, _M, _N, _K = (f"tile.product.{name}" for name in ("version", "m", "n", "k"))


def with_contract(door: Door, function: Any, product: WholeProduct) -> Any:
    """The function with the contract as its attributes."""
    facts = {_VERSION: product.version, _M: product.m, _N: product.n, _K: product.k}
    return function.with_attr({key: door.tirx.IntImm("int64", value) for key, value in facts.items()})


def call_for(door: Door, function: Any) -> Any | str:
    """The function with its body replaced by one call, or the reason why it stays."""
    reason = _objection(door, function)
    if reason:
        return reason
    t, no = door.tirx, door.tirx.IntImm("bool", 0)
    return function.with_body(t.Evaluate(t.call_packed(CBLAS_MATMUL, *function.params, no, no)))


def _objection(door: Door, function: Any) -> str:
    notes = dict(function.attrs or {})
    found = [int(notes[key]) if key in notes else None for key in (_VERSION, _M, _N, _K)]
    if found[0] != VERSION:
        return f"its contract has version {found[0]}, not {VERSION}"
    if not notes.get("tirx.noalias"):
        return "its arguments may overlap"
    m, n, k = (each or 0 for each in found[1:])
    if [_matrix(door, each) for each in function.params] != [(m, k), (k, n), (m, n)]:
        return "its arguments are not the matrices of its contract"
    return objection_to_product(door, function, m, n, k)


def _matrix(door: Door, parameter: Any) -> Sequence[int] | None:
    """The extents of a compact float32 matrix."""
    t = door.tirx
    if not t.is_buffer_var(parameter) or str(parameter.dtype) != "float32" or len(parameter.shape) != 2:
        return None
    if len(parameter.strides) or not all(isinstance(extent, t.IntImm) for extent in parameter.shape):
        return None
    return tuple(int(extent.value) for extent in parameter.shape)
