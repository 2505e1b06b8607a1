"""Elementary functions: calls into the C library, in float32 or float64, and what is written out in terms of them.

The library is the reference policy of this route. Its functions keep the bounds of the table of numbers; that every
symbol exists is asked before the code is loaded.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from tilewright.bridge.tirx.export.context import Exporter
from tilewright.bridge.tirx.nodes import Expr

__all__ = ["FUNCTIONS"]

Function = Callable[[Exporter, Sequence[Expr]], Expr]


def _library(name: str) -> Function:
    """A C function; its float32 form has an `f` at the end."""

    def call(cx: Exporter, operands: Sequence[Expr]) -> Expr:
        symbol = name + ("f" if cx.n.dtype(operands[0]) == "float32" else "")
        cx.symbols.add(symbol)
        return cx.n.call(symbol, *operands)

    return call


def _intrinsic(name: str) -> Function:
    return lambda cx, operands: cx.n.intrinsic(name, *operands)


def _one(cx: Exporter, like: Expr) -> Expr:
    return cx.n.float_(cx.n.dtype(like), 1.0)


def _rsqrt(cx: Exporter, operands: Sequence[Expr]) -> Expr:
    return cx.n.div(_one(cx, operands[0]), cx.n.intrinsic("llvm.sqrt", operands[0]))


def _sigmoid(cx: Exporter, operands: Sequence[Expr]) -> Expr:
    """1 / (1 + exp(-x)) without overflow on either side."""
    n, x = cx.n, cx.once(operands[0])
    zero = n.float_(n.dtype(x), 0.0)
    size = n.intrinsic("llvm.fabs", x)
    decay = cx.once(_library("exp")(cx, [n.sub(zero, size)]))
    above = n.select(n.lt(x, zero), decay, _one(cx, x))
    return n.div(above, n.add(_one(cx, x), decay))


FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        **{name: _library(name) for name in ("exp", "exp2", "log", "log2", "sin", "cos", "tanh", "erf", "pow")},
        **{name: _intrinsic(f"llvm.{name}") for name in ("sqrt", "floor", "ceil", "trunc")},
        "round": _intrinsic("llvm.rint"),
        "rsqrt": _rsqrt,
        "sigmoid": _sigmoid,
    }
)
"""By opcode, on float32 or float64 operands."""
