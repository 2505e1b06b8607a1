"""TileIR as text that prints and parses back. Types are aliased on top of the module."""

from collections.abc import Iterator
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser, ParserState
from xdsl.printer import Printer
from xdsl.utils.exceptions import DiagnosticException, ParseError
from xdsl.utils.lexer import Input, Token
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from tilewright.core.codes.internal import UNPARSABLE_TEXT
from tilewright.core.errors import InternalError
from tilewright.core.source import Span
from tilewright.ir.dialect import TileDialect
from tilewright.ir.types import MemoryType, TileType, ViewType

__all__ = ["parse_module", "print_module"]

# Which types get an alias, and the first letters of its name.
_ALIASED: dict[type[Attribute], str] = {
    TileType: "!t",
    ViewType: "!v",
    MemoryType: "!m",
}


def print_module(module: Operation, *, locations: bool = False) -> str:
    """The module as text. With `locations`, every operation and block argument shows its place."""
    stream = StringIO()
    aliases = _aliases(module)
    for attr, alias in aliases.items():
        stream.write(f"{alias} = {attr}\n")
    if aliases:
        stream.write("\n")
    _AliasPrinter(stream, aliases, locations=locations).print_op(module)
    return stream.getvalue() + "\n"


def parse_module(text: str, name: str = "<text>") -> ModuleOp:
    """The module that `text` describes. Raises InternalError (TW920) with the place of the first mistake.

    The result is not verified: text may hold any structure that the grammar can say.
    """
    parser = _Utf8Parser(tile_context(), text, name)
    try:
        return parser.parse_module()
    except ParseError as error:
        span, line = _place(error, text, name)
        raise InternalError(UNPARSABLE_TEXT.at(span, name=name, what=_first_line(error.msg), notes=line)) from error
    except (DiagnosticException, ValueError, KeyError, IndexError) as error:
        at = text.count("\n", 0, parser.pos) + 1
        span = Span(name, at, 0, at, 0)
        raise InternalError(UNPARSABLE_TEXT.at(span, name=name, what=_first_line(str(error)))) from error


def tile_context() -> Context:
    """An xDSL context that knows the builtin and the tile dialect, and nothing else."""
    context = Context(allow_unregistered=False)
    context.load_dialect(Builtin)
    context.load_dialect(TileDialect)
    return context


class _Utf8Lexer(MLIRLexer):
    """xDSL prints text outside of ASCII with escapes that it reads back as bytes; here every literal is text."""

    def _lex_string_literal(self, start_pos: int) -> Token[MLIRTokenKind]:
        return Token(MLIRTokenKind.STRING_LIT, super()._lex_string_literal(start_pos).span)


class _Utf8Parser(Parser):
    def __init__(self, context: Context, text: str, name: str) -> None:
        super().__init__(context, "", name)
        self._parser_state = ParserState(_Utf8Lexer(Input(text, name)))


class _AliasPrinter(Printer):
    """xDSL's printer with names for the attributes in `aliases`."""

    def __init__(self, stream: StringIO, aliases: dict[Attribute, str], *, locations: bool) -> None:
        super().__init__(stream=stream, print_debuginfo=locations)
        self._aliases = aliases

    def print_attribute(self, attribute: Attribute) -> None:
        alias = self._aliases.get(attribute)
        if alias is None:
            super().print_attribute(attribute)
        else:
            self.print_string(alias)


def _aliases(module: Operation) -> dict[Attribute, str]:
    aliases: dict[Attribute, str] = {}
    counts = dict.fromkeys(_ALIASED.values(), 0)
    for attr in (kind for op in module.walk() for kind in _types(op)):
        prefix = _ALIASED.get(type(attr))
        if prefix is not None and attr not in aliases:
            aliases[attr] = f"{prefix}{counts[prefix]}"
            counts[prefix] += 1
    return aliases


def _types(op: Operation) -> Iterator[Attribute]:
    yield from (result.type for result in op.results)
    yield from (operand.type for operand in op.operands)
    for region in op.regions:
        for block in region.blocks:
            yield from (arg.type for arg in block.args)


def _place(error: ParseError, text: str, name: str) -> tuple[Span, list[str]]:
    """Where in the text the parser stopped, and the line itself, which no file holds."""
    begin = min(error.span.start, len(text))
    line = text.count("\n", 0, begin) + 1
    head = text[text.rfind("\n", 0, begin) + 1 : begin]
    column = len(head.encode()) + 1
    width = max(error.span.end - error.span.start, 1)
    shown = text.splitlines()[line - 1 : line]
    return Span(name, line, column, line, column + width), [row.strip() for row in shown]


def _first_line(message: str) -> str:
    return next(iter(message.strip().splitlines()), "no reason given")
