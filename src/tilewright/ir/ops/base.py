"""Operand constraints and traits shared by the operations."""

from dataclasses import dataclass
from enum import Flag, auto

from xdsl.irdl import AnyAttr, AttrConstraint, BaseAttr
from xdsl.traits import OpTrait

from tilewright.ir.types import MemoryStateType, MemoryType, TileType, ViewType


class Effect(Flag):
    """What an operation itself (not its regions) does to storage."""

    NONE = 0
    READ = auto()
    WRITE = auto()
    ALLOCATE = auto()


@dataclass(frozen=True)
class HasEffect(OpTrait):
    """Declares the effect of an operation. Operations without this trait are pure."""

    effect: Effect = Effect.NONE


ANY: AttrConstraint = AnyAttr()
TILE: AttrConstraint = BaseAttr(TileType)
VIEW: AttrConstraint = BaseAttr(ViewType)
MEMORY: AttrConstraint = BaseAttr(MemoryType)
STATE: AttrConstraint = BaseAttr(MemoryStateType)
