"""What the generator knows while it writes: axes, variables in sight, open regions, and the lines so far."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.random.choices import Choices

__all__ = ["Argument", "Program", "Scope", "Variable", "Writer"]

FLOATS = ("f32", "f64", "f16", "bf16")
INTS = ("i32", "i64", "i8", "u8", "u32")


@dataclass(frozen=True, slots=True)
class Argument:
    """One parameter: how it is declared, and what is passed; a number when it has no axes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    const: bool

    @property
    def annotation(self) -> str:
        if not self.shape:
            return f"Scalar[{self.dtype}]"
        return f"{'Const' if self.const else ''}View{len(self.shape)}[{self.dtype}]"


@dataclass(frozen=True, slots=True)
class Program:
    """The text of a kernel, its arguments, what it was made from, and what is in it."""

    source: str
    arguments: tuple[Argument, ...]
    drawn: tuple[int, ...]
    traits: Counter[str]


@dataclass(frozen=True, slots=True)
class Variable:
    """A name in the kernel: a tile over these axes, or a scalar (None)."""

    name: str
    dtype: str
    axes: tuple[str, ...] | None


@dataclass(slots=True)
class Scope:
    """One open block: what can be read in it, and the coordinates that are known."""

    handle: str
    indices: dict[str, int]  # axis -> extent
    variables: list[Variable]
    depth: int
    kind: str
    parallel: tuple[str, ...]  # axes of parallel regions around: stores must depend on each of them
    guarded: bool = False  # inside an `if`: no region is opened there
    fixed: frozenset[str] = frozenset()  # names of outside of the innermost parallel, which nothing in it may bind anew
    memories: list[Variable] = field(default_factory=list["Variable"])  # that are filled

    def inner(self, handle: str, indices: dict[str, int], kind: str) -> "Scope":
        own = tuple(indices) if kind == "parallel" else ()
        named = [*self.variables, *self.memories]
        fixed = frozenset(v.name for v in named) if kind == "parallel" else self.fixed
        return Scope(
            handle, {**self.indices, **indices}, list(self.variables), self.depth + 1, kind, self.parallel + own,
            self.guarded, fixed, list(self.memories),
        )  # fmt: skip

    def rebindable(self) -> list[Variable]:
        """What a region or arm inside this block may bind anew."""
        return [v for v in self.variables if v.name not in self.fixed and v.axes != ()]


@dataclass(slots=True)
class Writer:
    """The text as it grows."""

    choices: Choices
    axes: dict[str, int] = field(default_factory=dict[str, int])
    arguments: list[Argument] = field(default_factory=list[Argument])
    written: list[Argument] = field(default_factory=list[Argument])  # outputs of earlier launches, to be read
    definitions: dict[str, str] = field(default_factory=dict[str, str])  # lines before the kernel, by what they name
    lines: list[str] = field(default_factory=list[str])
    traits: Counter[str] = field(default_factory=Counter[str])
    names: int = 0

    def fresh(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def line(self, scope: Scope, text: str) -> None:
        self.lines.append("    " * (scope.depth + 1) + text)

    def axis(self, label: str, extent: int) -> str:
        """A new axis; its name in the text."""
        name = self.fresh(label)
        self.axes[name] = extent
        return name

    def argument(self, prefix: str, dtype: str, shape: tuple[int, ...], *, const: bool) -> Argument:
        made = Argument(self.fresh(prefix), dtype, shape, const)
        self.arguments.append(made)
        return made

    def define(self, scope: Scope, expression: str, dtype: str, axes: tuple[str, ...] | None) -> Variable:
        """A statement that binds a new name."""
        (made,) = self.define_all(scope, expression, (dtype,), axes)
        return made

    def define_all(
        self, scope: Scope, expression: str, dtypes: Sequence[str], axes: tuple[str, ...] | None
    ) -> list[Variable]:
        """A statement that binds a new name for each of these element types."""
        made = [Variable(self.fresh("t" if axes is not None else "s"), dtype, axes) for dtype in dtypes]
        self.line(scope, f"{', '.join(each.name for each in made)} = {expression}")
        scope.variables.extend(made)
        self.traits.update(f"dtype {dtype}" for dtype in dtypes)
        return made
