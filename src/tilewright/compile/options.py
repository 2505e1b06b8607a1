"""The keywords of `tile.compile` and `with_options`, read into one frozen record or refused."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import TypedDict

from tilewright.bridge.tirx.door import require_installed
from tilewright.bridge.tirx.options import TirxOptions
from tilewright.bridge.xir.options import XirOptions
from tilewright.core.abi import CompileOptions, Lowering
from tilewright.core.codes.unsupported import BAD_OPTION, OPTION_OF_OTHER_ROUTE, UNKNOWN_OPTION
from tilewright.core.errors import UnsupportedError
from tilewright.core.source import user_span

__all__ = ["OptionFields", "bad_option", "read_options", "require_route"]


class OptionFields(TypedDict, total=False):
    """CompileOptions as keywords, for type checkers. A test holds both to the same names."""

    lowering: Lowering
    threads_per_group: int
    xir: XirOptions | None
    tirx: TirxOptions | None
    fast_math: bool
    name: str | None
    cache: bool
    debug: bool
    check: bool
    compile_only: bool


@dataclass(frozen=True, slots=True)
class _Kind:
    """What one option may be."""

    allowed: str
    admits: Callable[[object], bool]


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


_FLAG = _Kind("True or False", lambda value: isinstance(value, bool))
_KINDS: Mapping[str, _Kind] = MappingProxyType(
    {
        "lowering": _Kind("a member of Lowering", lambda value: isinstance(value, Lowering)),
        "threads_per_group": _Kind("a whole number from 0, where 0 leaves it open", _is_count),
        "xir": _Kind("an XirOptions or None", lambda value: value is None or isinstance(value, XirOptions)),
        "tirx": _Kind("a TirxOptions or None", lambda value: value is None or isinstance(value, TirxOptions)),
        "name": _Kind("a name or None", lambda value: value is None or (isinstance(value, str) and value != "")),
        **dict.fromkeys(("fast_math", "cache", "debug", "check", "compile_only"), _FLAG),
    }
)
_OWNERS: Mapping[str, Lowering] = MappingProxyType({"xir": Lowering.NATIVE, "tirx": Lowering.TIRX})


def read_options(given: Mapping[str, object], base: CompileOptions | None = None) -> CompileOptions:
    """`base` (default: the defaults) with the given fields in place.

    Raises UnsupportedError: TW405 an unknown name, TW406 a value that an option cannot have, TW404 an option of the
    other lowering.
    """
    known = [field.name for field in fields(CompileOptions)]
    for name, value in given.items():
        if name not in known:
            raise UnsupportedError(UNKNOWN_OPTION.at(user_span(), option=name, known=", ".join(known)))
        if not _KINDS[name].admits(value):
            raise bad_option(name, value, _KINDS[name].allowed, "pass one of those")
    options = replace(base or CompileOptions(), **given)  # type: ignore[arg-type]  # checked against _KINDS above
    _require_own(options)
    return options


def bad_option(name: str, value: object, allowed: str, remedy: str) -> UnsupportedError:
    """TW406, at the line that gave the option."""
    return UnsupportedError(BAD_OPTION.at(user_span(), option=name, value=value, allowed=allowed, remedy=remedy))


def _require_own(options: CompileOptions) -> None:
    for name, owner in _OWNERS.items():
        if getattr(options, name) is not None and options.lowering is not owner:
            given = options.lowering.name
            raise UnsupportedError(OPTION_OF_OTHER_ROUTE.at(user_span(), option=name, owner=owner.name, lowering=given))


def require_route(options: CompileOptions) -> None:
    """Raises CapabilityError for a lowering that this installation cannot use: TW403, TW470, TW471."""
    if options.lowering is Lowering.TIRX:
        require_installed()
