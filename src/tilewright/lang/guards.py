"""What a capture read from outside the kernel: a later direct call may use the result only while all of it is the same.

The reads are found in the code, not while it runs: every global and closure variable that the kernel or a function it
can reach names, the attributes of modules and objects it goes on to name, and the contents of containers.
"""

import builtins
import dis
import functools
import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

from numpy import ndarray

from tilewright.core.digest import digest

__all__ = ["CaptureGuards", "fingerprint", "guards_of"]

_PACKAGE = __name__.partition(".")[0]
_MISSING = object()
_GLOBAL_READS = ("LOAD_GLOBAL", "LOAD_NAME")
_CLOSURE_READS = ("LOAD_DEREF", "LOAD_CLASSDEREF")
_ATTRIBUTE_READS = ("LOAD_ATTR", "LOAD_METHOD")
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


@dataclass(frozen=True, slots=True)
class _Read:
    """One place outside the kernel and what was there, kept alive so that its identity stays its own.

    `owner` is a namespace, a cell, or an object with attributes.
    """

    owner: object
    name: str
    value: object
    contents: object

    def holds(self) -> bool:
        return self.admits(self.now())

    def admits(self, value: object) -> bool:
        """Whether this value means what was there."""
        return fingerprint(value) == self.contents

    def now(self) -> object:
        """What is there now."""
        return _look_up(self.owner, self.name)


@dataclass(frozen=True, slots=True)
class CaptureGuards:
    """The outside values of one capture."""

    reads: tuple[_Read, ...]

    def holds(self) -> bool:
        """Whether everything outside is as it was at capture."""
        return all(read.holds() for read in self.reads)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that are watched, for messages and tests."""
        return tuple(read.name for read in self.reads)


def guards_of(function: FunctionType) -> CaptureGuards:
    """The guards of everything `function` can read, through the functions it can call."""
    found: dict[tuple[int, str], _Read] = {}
    pending, seen = [function], {id(function)}
    while pending:
        for read in _reads(pending.pop()):
            found.setdefault((id(read.owner), read.name), read)
            for callee in _callees(read.value):
                if id(callee) not in seen:
                    seen.add(id(callee))
                    pending.append(callee)
    return CaptureGuards(tuple(found.values()))


def _callees(value: object, depth: int = 4) -> Iterator[FunctionType]:
    """The functions of the user that a value may run when it is called, or when something in it is."""
    match value:
        case MethodType():
            yield from _callees(value.__func__)
        case FunctionType() if hasattr(value, "__wrapped__"):
            yield from _callees(inspect.unwrap(value))
        case FunctionType():
            if not _is_ours(value.__module__):
                yield value
        case functools.partial():
            parts = cast("functools.partial[object]", value)
            yield from _callees([parts.func, *parts.args, *parts.keywords.values()], depth)
        case list() | tuple() | dict() if depth:
            items = value.values() if isinstance(value, dict) else value  # pyright: ignore[reportUnknownVariableType]
            for item in cast("Iterable[object]", items):
                yield from _callees(item, depth - 1)
        case _ if is_dataclass(value) and _is_ours(type(value).__module__):  # a reducer holds functions of the user
            for each in fields(value):
                yield from _callees(getattr(value, each.name), depth)
        case _:
            yield from _methods_called(value)


def _methods_called(value: object) -> Iterator[FunctionType]:
    """The constructor of a class of the user, or what calling an object of one runs."""
    kind, name = (value, "__init__") if isinstance(value, type) else (type(value), "__call__")
    method = vars(kind).get(name)
    if isinstance(method, FunctionType) and not _is_ours(kind.__module__):
        yield from _callees(method)


def _is_ours(module: str | None) -> bool:
    return (module or "").partition(".")[0] == _PACKAGE


def _reads(function: FunctionType) -> Iterator[_Read]:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for default in [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]:
        if callable(default):
            yield _read({"default": default}, "default")
    yield from _reads_of_code(function.__code__, function.__globals__, cells)


def _reads_of_code(code: CodeType, namespace: dict[str, Any], cells: Mapping[str, CellType]) -> Iterator[_Read]:
    instructions = list(dis.get_instructions(code))
    for place, instruction in enumerate(instructions):
        name = instruction.argval
        if instruction.opname in _GLOBAL_READS:
            read = _read(namespace, name)
        elif instruction.opname in _CLOSURE_READS and name in cells:
            read = _read(cells[name], name)
        else:
            continue
        yield read
        yield from _attribute_reads(read, instructions[place + 1 :])
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _reads_of_code(constant, namespace, cells)


def _attribute_reads(read: _Read, following: list[dis.Instruction]) -> Iterator[_Read]:
    """`a.b.c` watches `b` of `a` and `c` of that, but nothing inside this package or built-in types."""
    for instruction in following:
        if instruction.opname not in _ATTRIBUTE_READS or not _is_watched(read.value):
            return
        read = _read(read.value, instruction.argval)
        yield read


def _is_watched(value: object) -> bool:
    if isinstance(value, ModuleType):
        return not _is_ours(value.__name__)
    has_attributes = hasattr(value, "__dict__") or hasattr(value, "__slots__")
    return has_attributes and not _is_ours(type(value).__module__)


def _read(owner: object, name: str) -> _Read:
    value = _look_up(owner, name)
    return _Read(owner, name, value, fingerprint(value))


def _look_up(owner: object, name: str) -> object:
    match owner:
        case dict():
            table = cast("dict[str, object]", owner)
            return table[name] if name in table else getattr(builtins, name, _MISSING)
        case CellType():
            try:
                return owner.cell_contents
            except ValueError:  # not bound yet
                return _MISSING
        case _:
            return getattr(owner, name, _MISSING)


def fingerprint(value: object, depth: int = 4) -> object:
    """What changes when a value or the contents of a container change; the identity of what has no contents."""
    if isinstance(value, _PLAIN):
        return type(value), repr(value)
    if isinstance(value, MethodType):
        return id(value.__func__), fingerprint(value.__self__, depth - 1)
    if isinstance(value, ndarray):
        array = cast("ndarray[Any, Any]", value)
        return str(array.dtype), array.shape, digest(array.tobytes())
    if depth <= 0 or callable(value) or isinstance(value, ModuleType | type):
        return id(value)
    if type(value) in (list, tuple):
        return type(value), tuple(fingerprint(item, depth - 1) for item in cast("list[object]", value))
    if type(value) in (set, frozenset):
        return type(value), frozenset(fingerprint(item, depth - 1) for item in cast("set[object]", value))
    if type(value) is dict:
        return _table_fingerprint(cast("dict[object, object]", value), depth)
    return (id(value), _table_fingerprint(_attributes(value), depth)) if _is_watched(value) else id(value)


def _table_fingerprint(table: Mapping[Any, object], depth: int) -> object:
    return tuple((fingerprint(key, depth - 1), fingerprint(item, depth - 1)) for key, item in table.items())


def _attributes(value: object) -> Mapping[str, object]:
    """What an object holds, in its dictionary and in its slots."""
    slots = [name for kind in type(value).__mro__ for name in _names(getattr(kind, "__slots__", ()))]
    held = {name: getattr(value, name) for name in slots if hasattr(value, name) and name != "__dict__"}
    return {**held, **getattr(value, "__dict__", {})}


def _names(slots: str | Iterable[str]) -> Iterable[str]:
    return (slots,) if isinstance(slots, str) else slots
