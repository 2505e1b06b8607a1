"""What a capture read from outside the kernel: a later direct call may use the result only while all of it is the same.

The reads are found in the code, not while it runs: every global and closure variable that the kernel or a function it
can reach names, the attributes of modules and objects it goes on to name, and the contents of containers.
"""

import builtins
import dis
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

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
        return fingerprint(_look_up(self.owner, self.name)) == self.contents


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


def _callees(value: object) -> Iterator[FunctionType]:
    """The functions of the user that a value may run when it is called."""
    if isinstance(value, MethodType):
        value = value.__func__
    value = getattr(value, "__wrapped__", value) if isinstance(value, FunctionType) else value
    if isinstance(value, FunctionType) and not _is_ours(value):
        yield value
    if isinstance(value, type) and value.__module__.partition(".")[0] != _PACKAGE and "__init__" in vars(value):
        yield from _callees(vars(value)["__init__"])


def _is_ours(function: FunctionType) -> bool:
    return (function.__module__ or "").partition(".")[0] == _PACKAGE


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
        return value.__name__.partition(".")[0] != _PACKAGE
    return hasattr(value, "__dict__") and type(value).__module__.partition(".")[0] != _PACKAGE


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
    if depth <= 0 or callable(value) or isinstance(value, ModuleType | type):
        return id(value)
    if type(value) in (list, tuple):
        return tuple(fingerprint(item, depth - 1) for item in cast("list[object]", value))
    if type(value) in (set, frozenset):
        return frozenset(fingerprint(item, depth - 1) for item in cast("set[object]", value))
    if type(value) is dict:
        table = cast("dict[object, object]", value)
        return tuple((fingerprint(key, depth - 1), fingerprint(item, depth - 1)) for key, item in table.items())
    if _is_watched(value):
        return (id(value), *(fingerprint(item, depth - 1) for item in vars(value).values()))
    return id(value)
