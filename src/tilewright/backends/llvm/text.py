"""LLVM IR as text: modules and functions. One instruction is one formatted line, so writing is as fast as formatting.

Example:
    module = Module()
    f = module.function("scale", [Parameter("x", PTR, ("noalias",)), Parameter("n", I64)])
    with f.up_to(f.argument("n")) as each:
        where = f.offset(f.argument("x"), each.index, FLOAT)
        f.store(f.fmul(f.load(FLOAT, where), constant(FLOAT, 2.0)), where)
    f.ret()
    module.text()
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.backends.llvm.control import Control
from tilewright.backends.llvm.faults import misuse
from tilewright.backends.llvm.intrinsics import Intrinsics
from tilewright.backends.llvm.memory import Memory
from tilewright.backends.llvm.types import PTR, VOID, Type
from tilewright.backends.llvm.values import Value
from tilewright.backends.llvm.vectors import Vectors

PLAIN = ("nounwind", '"no-builtins"')  # no-builtins: a loop stays a loop, never a call of memset
INTERNAL = "internal "  # linkage of functions that only this module calls
EXPORTED = ""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter with its attributes, as `noalias`, `nonnull` or `align 64`."""

    name: str
    type: Type
    attributes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join([self.type.text, *self.attributes, f"%{self.name}"])


class Function(Control, Memory, Vectors, Intrinsics):
    """A function under construction. Instructions are its methods; `current` is the block they go to."""

    def __init__(
        self, module: "Module", name: str, parameters: Sequence[Parameter], result: Type, linkage: str, group: str
    ) -> None:
        super().__init__(module)
        self.name = name
        self.parameters = tuple(parameters)
        self.result = result
        self._linkage = linkage
        self._group = group
        self._arguments = {each.name: Value(each.type, f"%{each.name}") for each in parameters}

    def argument(self, name: str) -> Value:
        return self._arguments[name]

    @property
    def arguments(self) -> tuple[Value, ...]:
        """All arguments in order."""
        return tuple(self._arguments.values())

    @property
    def pointer(self) -> Value:
        """The function as an operand."""
        return Value(PTR, f"@{self.name}")

    def write(self, out: list[str]) -> None:
        listed = ", ".join(str(parameter) for parameter in self.parameters)
        out.append(f"define {self._linkage}{self.result.text} @{self.name}({listed}) {self._group} {{")
        out.extend(self.body_lines())
        out.append("}\n")


class Module:
    """A module under construction: globals, declarations, functions, attribute groups, metadata."""

    def __init__(self) -> None:
        self._globals: dict[str, str] = {}
        self._declared: dict[str, str] = {}
        self._functions: dict[str, Function] = {}
        self._groups: dict[tuple[str, ...], str] = {}
        self._loops: dict[tuple[str, ...], int] = {}

    def function(
        self,
        name: str,
        parameters: Sequence[Parameter],
        result: Type = VOID,
        *,
        linkage: str = EXPORTED,
        attributes: Sequence[str] = (),
    ) -> Function:
        """A new function; `attributes` come on top of PLAIN (`noinline`, `alwaysinline`, `cold`)."""
        if name in self._functions:
            raise misuse(f"function @{name} defined twice")
        wanted = (*PLAIN, *attributes)
        group = self._groups.setdefault(wanted, f"#{len(self._groups)}")
        self._functions[name] = made = Function(self, name, parameters, result, linkage, group)
        return made

    def declare(self, name: str, result: Type, parameters: Sequence[Type]) -> None:
        """An external function. Declaring it again is harmless."""
        if name not in self._declared:
            listed = ", ".join(parameter.text for parameter in parameters)
            self._declared[name] = f"declare {result.text} @{name}({listed})"

    def variable(self, name: str, type: Type, initial: str = "zeroinitializer", *, align: int = 64) -> Value:
        """A private mutable global."""
        return self._global(name, f"internal global {type.text} {initial}, align {align}")

    def table(self, name: str, type: Type, initial: str, *, align: int = 64) -> Value:
        """A private constant global."""
        return self._global(name, f"internal unnamed_addr constant {type.text} {initial}, align {align}")

    def external(self, name: str) -> Value:
        """A symbol whose address is given at link time."""
        return self._global(name, "external global i8")

    def _global(self, name: str, definition: str) -> Value:
        if self._globals.setdefault(name, definition) != definition:
            raise misuse(f"global @{name} defined twice")
        return Value(PTR, f"@{name}")

    def loop_metadata(self, *properties: str) -> str:
        """The suffix that hangs `properties` on a loop's back edge."""
        following = sum(1 + len(known) for known in self._loops)
        number = self._loops.setdefault(properties, following)
        return f", !llvm.loop !{number}"

    def function_names(self) -> tuple[str, ...]:
        return tuple(self._functions)

    def text(self) -> str:
        """The whole module. The JIT adds target and data layout."""
        out = [f"@{name} = {definition}" for name, definition in self._globals.items()]
        out.extend(line for name, line in self._declared.items() if name not in self._functions)
        for function in self._functions.values():
            function.write(out)
        out.extend(f"attributes {group} = {{ {' '.join(wanted)} }}" for wanted, group in self._groups.items())
        for properties, number in self._loops.items():
            members = ", ".join(f"!{number + 1 + k}" for k in range(len(properties)))
            out.append(f"!{number} = distinct !{{!{number}, {members}}}")
            out.extend(f'!{number + 1 + k} = !{{!"{name}"}}' for k, name in enumerate(properties))
        return "\n".join(out) + "\n"
