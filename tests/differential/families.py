"""Plan families: one choice of the plan forced, everything else left to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tilewright.bridge.xir.options import PROGRAM, RETILING, Packing, Use, XirOptions, element

__all__ = ["FAMILIES", "Family"]


@dataclass(frozen=True, slots=True)
class Family:
    """`exact`: no rounding moves, so that results have the bits of the open plan. `products`: it is about them only."""

    options: XirOptions
    exact: bool = True
    products: bool = False


def _tiles(**options: object) -> Family:
    """Other lanes or tiles: a fold that may be regrouped is."""
    return Family(XirOptions(**options), exact=False)  # type: ignore[arg-type]  # the fields of XirOptions


def _products(**options: object) -> Family:
    return Family(XirOptions(**options), products=True)  # type: ignore[arg-type]  # the fields of XirOptions


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "lanes of programs": _tiles(lanes=PROGRAM),
        "four lanes of programs": _tiles(lanes=PROGRAM, lane_width=4, block_size=8),
        "lanes of elements": _tiles(lanes=element()),
        "one lane": _tiles(lanes=element(), lane_width=1),
        "the kernel's own tiles": _tiles(lanes=element(), retile=False),
        **{f"retiled without {name}": _tiles(without=(name,)) for name in RETILING},
        "blocks of one program": _tiles(block_size=1),
        "blocks of 64 programs": _tiles(block_size=64),
        "products in place": _products(packing=Packing.IN_PLACE),
        "products with one operand in panels": _products(packing=Packing.ONE),
        "products with both operands in panels": _products(packing=Packing.BOTH),
        "short blocks in place": _products(packing=Packing.IN_PLACE, k_block=5, row_block=7),
        "short blocks in one panel": _products(packing=Packing.ONE, k_block=3, row_block=8),
        "short blocks in both panels": _products(packing=Packing.BOTH, k_block=7, row_block=5),
        "register tiles of one vector": _products(register_tile=(1, 1)),
        "register tiles of 3 by 2": _products(register_tile=(3, 2)),
        "register tiles of 5 by 1 in panels": _products(register_tile=(5, 1), packing=Packing.BOTH),
        "no squares": Family(XirOptions(squares=Use.NEVER)),
        "squares": Family(XirOptions(squares=Use.WHEREVER_LEGAL)),
        "no stores past the caches": Family(XirOptions(streaming=Use.NEVER)),
        "stores past the caches": Family(XirOptions(streaming=Use.WHEREVER_LEGAL)),
        "no joined stores": Family(XirOptions(joining=Use.NEVER)),
        "vectors and rows one by one": Family(XirOptions(abreast=Use.NEVER)),
        "vectors and rows side by side": Family(XirOptions(abreast=Use.WHEREVER_LEGAL)),
        "tiles recomputed": Family(XirOptions(recompute=Use.WHEREVER_LEGAL)),
        "tiles in buffers": Family(XirOptions(recompute=Use.NEVER)),
        "no fused producers": Family(XirOptions(fusion=Use.NEVER)),
        "panels that programs share": _products(sharing=Use.WHEREVER_LEGAL, packing=Packing.BOTH),
        "operands computed into panels": _products(fusion=Use.WHEREVER_LEGAL, packing=Packing.BOTH),
    }
)
