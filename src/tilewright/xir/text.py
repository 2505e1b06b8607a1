"""XIR as text that prints and parses back."""

from functools import lru_cache
from io import StringIO
from math import isfinite
from typing import cast

from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import DiagnosticException, ParseError

from tilewright.core.codes.internal import UNPARSABLE_XIR
from tilewright.core.diagnostics import Diagnostic
from tilewright.core.errors import InternalError
from tilewright.core.source import Span
from tilewright.xir.dialect import context

__all__ = ["parse_module", "print_module"]


def print_module(module: Operation, *, locations: bool = False) -> str:
    """The module as text. With `locations`, every operation and block argument shows its place."""
    stream = StringIO()
    _Printer(stream, print_debuginfo=locations).print_op(module)
    return stream.getvalue() + "\n"


class _Printer(Printer):
    """xDSL's printer, but vectors with infinities or NaNs as bytes: xDSL reads its `dense<0x7f800000>` as a number."""

    def print_attribute(self, attribute: Attribute) -> None:
        text = _as_bytes(attribute)
        if text is None:
            super().print_attribute(attribute)
        else:
            self.print_string(text)


@lru_cache(maxsize=4096)
def _as_bytes(attribute: Attribute) -> str | None:
    """The hexadecimal form of a dense attribute that holds a NaN or an infinity."""
    if not isinstance(attribute, DenseIntOrFPElementsAttr):
        return None
    dense = cast("DenseIntOrFPElementsAttr[AnyFloat]", attribute)
    if all(map(isfinite, dense.get_values())):
        return None
    return f'dense<"0x{dense.data.data.hex().upper()}"> : {dense.type}'


def parse_module(text: str, name: str = "<text>") -> ModuleOp:
    """The module that `text` describes, not yet verified. Raises InternalError (TW941) at the first mistake."""
    parser = Parser(context(), text, name)
    try:
        return parser.parse_module()
    except ParseError as error:
        raise InternalError(_unparsable(text, name, error.span.start, error.msg)) from error
    except (DiagnosticException, ValueError, KeyError, IndexError) as error:
        raise InternalError(_unparsable(text, name, parser.pos, str(error))) from error


def _unparsable(text: str, name: str, position: int, what: str) -> Diagnostic:
    line = text[:position].rstrip().count("\n") + 1
    shown = [row.strip() for row in text.splitlines()[line - 1 : line]]
    reason = what.strip().partition("\n")[0]
    return UNPARSABLE_XIR.at(Span(name, line, 0, line, 0), name=name, what=reason, notes=shown)
