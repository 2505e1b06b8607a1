"""Direct calls: what a device may offer so that a call that was seen before runs without being understood again."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from .interface import NativeShader

__all__ = ["DirectArgument", "DirectCall", "DirectTable", "DirectTableFactory", "Identity"]


@dataclass(frozen=True, slots=True)
class DirectArgument:
    """An exact NumPy array as it looks: `dtype` is its very dtype object, strides are in bytes.

    `flags` are the bits of `array.flags.num` under `flags_mask`. The address is a multiple of `alignment`.
    """

    dtype: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    flags_mask: int
    flags: int
    alignment: int


@dataclass(frozen=True, slots=True)
class Identity:
    """`container[name]` is this very object, or (`missing`) is not there. The container of `name` None is a cell."""

    container: object
    name: str | None
    value: object
    missing: bool = False


@dataclass(frozen=True, slots=True)
class DirectCall:
    """One way to call a shader: how positional arguments look (None: the argument None), while identities hold.

    `keeps` stays alive for as long as the call may be made.
    """

    arguments: tuple[DirectArgument | None, ...]
    identities: tuple[Identity, ...]
    keeps: object


class DirectTable(Protocol):
    """The latest calls of one kernel.

    `entry(*arguments)` runs the shader of a call that fits and returns True; it does nothing and returns False where
    none fits, where arguments overlap that the code expects apart, or where it cannot tell. It raises nothing.
    """

    @property
    def entry(self) -> Callable[..., bool]: ...

    def add(self, shader: NativeShader, call: DirectCall, /) -> None:
        """From now on `entry` serves this call, if it can; older calls may go."""
        ...


@runtime_checkable
class DirectTableFactory(Protocol):
    """The optional ability of a device to make such tables. None where this Python does not allow it."""

    def create_direct_table(self) -> DirectTable | None: ...
