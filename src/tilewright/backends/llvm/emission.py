"""Where instructions go: blocks of lines, fresh names, the current position. The instruction families build on this."""

from collections.abc import Sequence
from typing import Protocol

from tilewright.backends.llvm.faults import misuse
from tilewright.backends.llvm.types import Type
from tilewright.backends.llvm.values import Value


class Declarations(Protocol):
    """The part of a module that instructions need: external functions and metadata nodes."""

    def declare(self, name: str, result: Type, parameters: Sequence[Type]) -> None: ...

    def loop_metadata(self, *properties: str) -> str: ...


class Phi(Value):
    """A phi whose incoming edges are added when they become known."""

    __slots__ = ("_edges",)

    def __init__(self, type: Type, ref: str) -> None:
        super().__init__(type, ref)
        self._edges: list[str] = []

    def add(self, value: Value, block: "Block") -> None:
        """`value` arrives from the end of `block`."""
        if value.type is not self.type:
            raise misuse(f"phi of {self.type} with an incoming {value.type}")
        self._edges.append(f"[{value.ref}, %{block.label}]")

    def line(self) -> str:
        return f"  {self.ref} = phi {self.type.text} " + ", ".join(self._edges)


class Block:
    """A basic block: phis, lines, and whether a terminator has closed it."""

    __slots__ = ("closed", "label", "lines", "phis")

    def __init__(self, label: str) -> None:
        self.label = label
        self.phis: list[Phi] = []
        self.lines: list[str] = []
        self.closed = False

    def refuse(self, line: str) -> None:
        """Stands in for `lines.append` once the block is closed."""
        raise misuse(f"instruction after the terminator of %{self.label}: {line}")

    def write(self, out: list[str]) -> None:
        if not self.closed:
            raise misuse(f"block %{self.label} has no terminator")
        out.append(f"{self.label}:")
        out.extend(phi.line() for phi in self.phis)
        out.extend(self.lines)


class Emission:
    """The insertion point of one function."""

    def __init__(self, module: Declarations) -> None:
        self.module = module
        self._counter = 0
        self._blocks: list[Block] = []
        self._entry_lines: list[str] = []
        self.current = self.place(Block("entry"))

    def block(self, stem: str) -> Block:
        """A new block, not yet part of the function's text: `place` decides where it stands."""
        self._counter += 1
        return Block(f"{stem}{self._counter}")

    def place(self, block: Block) -> Block:
        """Append `block` to the function and continue in it."""
        self._blocks.append(block)
        self.current = block
        self._append = block.lines.append
        return block

    def emit(self, line: str) -> None:
        """An instruction without a result."""
        self._append("  " + line)

    def define(self, type: Type, text: str) -> Value:
        """An instruction with a result."""
        self._counter = number = self._counter + 1
        self._append(f"  %v{number} = {text}")
        return Value(type, f"%v{number}")

    def define_in_entry(self, type: Type, text: str) -> Value:
        """An instruction at the head of the function, whatever the insertion point: for stack slots."""
        self._counter += 1
        ref = f"%v{self._counter}"
        self._entry_lines.append(f"  {ref} = {text}")
        return Value(type, ref)

    def terminate(self, line: str) -> None:
        """The last instruction of the current block."""
        self.emit(line)
        self.current.closed = True
        self._append = self.current.refuse

    def phi(self, type: Type) -> Phi:
        """A phi at the head of the current block."""
        self._counter += 1
        phi = Phi(type, f"%v{self._counter}")
        self.current.phis.append(phi)
        return phi

    def body_lines(self) -> list[str]:
        """Every line of the function's body."""
        entry = self._blocks[0]
        out: list[str] = []
        for block in self._blocks:
            block.write(out)
            if block is entry:
                out[1:1] = self._entry_lines
        return out
