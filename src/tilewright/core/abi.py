"""Records that compilers, bridges, backends and the runtime hand to each other. Data only."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from .diagnostics import Diagnostic
from .dtypes import DType

__all__ = ["CompileOptions", "KernelArgument", "KernelMetadata", "Lowering", "Report", "Usage"]


class Usage(enum.Flag):
    """What a kernel does to one argument. NONE is possible: an argument that is never touched."""

    NONE = 0
    READ = enum.auto()
    WRITE = enum.auto()
    READ_WRITE = READ | WRITE


class Lowering(enum.Enum):
    """Which route makes the code."""

    NATIVE = "native"
    TIRX = "tirx"


@dataclass(frozen=True, slots=True)
class KernelArgument:
    """One argument, in the order of the signature. `strides` count elements; a number has no axes, and its buffer one
    element.
    """

    name: str
    element: type[DType]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    minimum_size_bytes: int
    usage: Usage
    const: bool

    @property
    def is_scalar(self) -> bool:
        return not self.shape


@dataclass(frozen=True, slots=True)
class KernelMetadata:
    """What is known of a compiled kernel. `realization` counts what was built, not what was asked for.

    `disjoint_writes`: written arguments must not overlap any other. `providers`: outside code that it calls.
    `refusals`: what was tried and declined on the way. `error`: why compilation failed, on a falsy shader.
    """

    name: str
    dispatch_size: tuple[int, int, int]
    arguments: tuple[KernelArgument, ...]
    disjoint_writes: bool
    source: str
    realization: Mapping[str, int | str]
    providers: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    error: Diagnostic | None = None


class Report(Protocol):
    """An explanation (plan, costs, proofs, rejections) that the layers between pass on unread."""

    def render(self) -> str:
        """The explanation as plain text."""
        ...


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """The keywords of `tile.compile`. `xir` and `tirx` are the option records of the two bridges.

    fast_math: elementary functions of float32 come from their fast tier, whose bounds are wider.
    """

    lowering: Lowering = Lowering.NATIVE
    threads_per_group: int = 0
    xir: object | None = None
    tirx: object | None = None
    fast_math: bool = False
    name: str | None = None
    cache: bool = True
    debug: bool = False
    check: bool = True
    compile_only: bool = False
