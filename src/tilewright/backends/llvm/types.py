"""LLVM types as interned values: two types are the same exactly when they are the same object."""

import enum
from dataclasses import dataclass, field
from functools import cache


class Kind(enum.Enum):
    """What the element of a type is; vectors have the kind of their element."""

    VOID = enum.auto()
    INTEGER = enum.auto()
    FLOAT = enum.auto()
    POINTER = enum.auto()
    AGGREGATE = enum.auto()


@dataclass(frozen=True, slots=True, eq=False)
class Type:
    """One LLVM type: its spelling, its part of an intrinsic's name, and the facts the builder checks."""

    text: str
    mangled: str
    kind: Kind
    bits: int
    lanes: int = 0
    scalar: "Type | None" = None
    alignment: int = field(init=False)  # bytes every access may rely on: the element's size

    def __post_init__(self) -> None:
        object.__setattr__(self, "alignment", max(1, self.bits // 8))

    @property
    def is_vector(self) -> bool:
        return self.lanes > 0

    @property
    def element(self) -> "Type":
        """The element of a vector, the type itself otherwise."""
        return self.scalar or self

    @property
    def size_bytes(self) -> int:
        return self.alignment * max(1, self.lanes)

    def __repr__(self) -> str:
        return self.text


def _integer(bits: int) -> Type:
    return Type(f"i{bits}", f"i{bits}", Kind.INTEGER, bits)


VOID = Type("void", "isVoid", Kind.VOID, 0)
I1, I8, I16, I32, I64, I128 = (_integer(bits) for bits in (1, 8, 16, 32, 64, 128))
HALF = Type("half", "f16", Kind.FLOAT, 16)
BFLOAT = Type("bfloat", "bf16", Kind.FLOAT, 16)
FLOAT = Type("float", "f32", Kind.FLOAT, 32)
DOUBLE = Type("double", "f64", Kind.FLOAT, 64)
PTR = Type("ptr", "p0", Kind.POINTER, 64)


@cache
def vector(element: Type, lanes: int) -> Type:
    """`<lanes x element>`."""
    return Type(f"<{lanes} x {element.text}>", f"v{lanes}{element.mangled}", element.kind, element.bits, lanes, element)


def widened(element: Type, like: Type) -> Type:
    """`element` in the shape of `like`: as many lanes, or a scalar when `like` is one."""
    return vector(element, like.lanes) if like.lanes else element


@cache
def array(element: Type, count: int) -> Type:
    """`[count x element]`."""
    return Type(f"[{count} x {element.text}]", f"a{count}{element.mangled}", Kind.AGGREGATE, element.bits)


@cache
def structure(*members: Type) -> Type:
    """`{ members }`, laid out by the target's rules."""
    inner = ", ".join(member.text for member in members)
    return Type(f"{{ {inner} }}", "sl_" + "".join(m.mangled for m in members) + "s", Kind.AGGREGATE, 64)
