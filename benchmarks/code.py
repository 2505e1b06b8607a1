"""What the machine code of a kernel consists of: counts that explain a time, and that change with the code only."""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from examples.gallery.entry import Entry
from tilewright import tile
from tilewright.backends.llvm.jit import compile_object
from tilewright.core.errors import ToolchainError
from tilewright.runtime.device import Device

__all__ = ["Code", "code_of", "counted", "outside_of"]

_DECLARED = re.compile(r"^declare .*@([\w.$]+)\(", re.MULTILINE)
_BY_NAME = re.compile(r"@\.tvm_func\.([\w.]+) = ")
_RUNTIME = ("llvm.", "TVM")
_LABEL = re.compile(r"^(?!\.L|#)(\S+):", re.MULTILINE)
_FMA = re.compile(r"vfn?m(add|sub)\w*p[sd]|fml[as]")
_VECTOR = re.compile(r"%[xyz]mm\d+|\bv\d+\.")
_MEMORY = re.compile(r"\(%\w+[^)]*\)|\[\w+[^]]*\]|\(%rip\)")
_INTO_MEMORY = re.compile(r"\)( \{%k\d\})?$")
_STACK = re.compile(r"\(%[er][sb]p\)|\[sp\b")
_MOVE = re.compile(r"v?mov\w*|st[rp]|ld[rp]")
EXECUTABLE = 4  # SHF_EXECINSTR


@dataclass(frozen=True, slots=True)
class Code:
    """Vector instructions of the hot function, the one with the most multiply-adds, else the most vector instructions.

    spills: vector registers moved to or from the stack. size: bytes of all machine code of the kernel, 0: not known.
    """

    function: str
    instructions: int
    fmas: int
    loads: int
    stores: int
    spills: int
    size: int


def code_of(device: Device, entry: Entry) -> Code:
    """Of the kernel as it is compiled for these arguments."""
    shader = tile.compile(device, entry.capture())
    return counted(shader.assembly(), _size(shader.metadata.source))


def counted(assembly: str, size: int = 0) -> Code:
    """The counts of an assembly text."""
    found = [_function(name, lines, size) for name, lines in _functions(assembly)]
    return max(found, key=lambda code: (code.fmas, code.instructions))


def outside_of(source: str) -> list[str]:
    """Functions of others that an LLVM text from TVM calls: C functions, and those that its registry knows."""
    declared = [name for name in _DECLARED.findall(source) if not name.startswith(_RUNTIME)]
    return sorted({*declared, *_BY_NAME.findall(source)})


def _functions(assembly: str) -> Iterator[tuple[str, list[str]]]:
    _, *parts = _LABEL.split(assembly)
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        yield name, [line.strip() for line in body.splitlines() if re.match(r"\s+[a-z]", line)]


def _function(name: str, lines: list[str], size: int) -> Code:
    vector = [line for line in lines if _VECTOR.search(line)]
    touching = [line for line in vector if _MEMORY.search(line)]
    stores = [line for line in touching if _is_store(line)]
    return Code(
        function=name,
        instructions=len(vector),
        fmas=sum(1 for line in vector if _FMA.match(line)),
        loads=len(touching) - len(stores),
        stores=len(stores),
        spills=sum(1 for line in touching if _STACK.search(line) and _MOVE.match(line)),
        size=size,
    )


def _is_store(line: str) -> bool:
    """x86 names the destination last, ARM names the act."""
    return line.startswith("st") or _INTO_MEMORY.search(line) is not None


def _size(source: str) -> int:
    try:
        return executable_bytes(compile_object(source))
    except ToolchainError:  # the text of several modules is not one module
        return 0


def executable_bytes(image: bytes) -> int:
    """The sizes of the sections of code of a 64-bit little-endian ELF object, 0 for another format."""
    if image[:6] != b"\x7fELF\x02\x01":
        return 0
    (table,) = struct.unpack_from("<Q", image, 40)
    entry_size, count = struct.unpack_from("<HH", image, 58)
    headers = (struct.unpack_from("<IIQQQQ", image, table + each * entry_size) for each in range(count))
    return sum(size for _, _, flags, _, _, size in headers if flags & EXECUTABLE)
