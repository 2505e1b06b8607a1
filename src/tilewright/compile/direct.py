"""What a direct call looked like, as the device needs it to serve the next one alone."""

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import cast

from numpy import ndarray

from tilewright.lang.signature import KernelSignature
from tilewright.numerics.arrays import Array
from tilewright.runtime.direct import DirectArgument

__all__ = ["configuration_key", "looks_of", "not_yet"]

# Of `array.flags.num`: writable, warns when written to, is a copy that is written back.
_WRITING = 0x0400 | 0x8000_0000 | 0x2000

_PLAIN = (int, bool, str, NoneType)  # equal and of one type: the same


def not_yet(*_arguments: object) -> bool:
    """The entry of a kernel that was never called."""
    return False


def looks_of(arguments: Sequence[object], signature: KernelSignature) -> tuple[DirectArgument | None, ...] | None:
    """How the arguments of a valid call look; None where something is neither None nor exactly a NumPy array."""
    if not all(argument is None or type(argument) is ndarray for argument in arguments):
        return None
    pairs = zip(arguments, signature.parameters, strict=False)
    return tuple([_look(argument, const=parameter.annotation.const) for argument, parameter in pairs])


def _look(argument: object, *, const: bool) -> DirectArgument | None:
    if not isinstance(argument, ndarray):
        return None
    array = cast("Array", argument)
    mask = 0 if const else _WRITING
    size = array.dtype.itemsize
    return DirectArgument(array.dtype, array.shape, array.strides, mask, array.flags.num & mask, size)


def configuration_key(config: Mapping[str, object]) -> object | None:
    """Equal for equal configurations; None where a value is not plain."""
    if all(type(value) in _PLAIN for value in config.values()):
        return tuple([(name, type(value), value) for name, value in config.items()])
    return None
