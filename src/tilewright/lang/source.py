"""From a running function to its syntax tree, and back to a function."""

import __future__

import ast
import linecache
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType

from tilewright.core.codes.capture import NO_SOURCE, STALE_SOURCE
from tilewright.core.errors import CaptureError
from tilewright.core.locks import ChildLock
from tilewright.core.source import Span
from tilewright.lang.hooks import HOOKS
from tilewright.lang.nests import parallel, serial
from tilewright.lang.rewrite import HOOK_NAME, rewrite

__all__ = ["Rewritten", "rewritten"]

_OUTER = "_tw_outer"
_PARSER = ChildLock()  # in Python 3.11 threads that parse at once fail with a SystemError about recursion depth
# The flags are distinct bits, so their sum is their union.
_FUTURES: int = sum(getattr(__future__, feature).compiler_flag for feature in __future__.all_feature_names)


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A function whose regions are rewritten, and its text."""

    function: FunctionType
    source: str


def rewritten(function: FunctionType) -> Rewritten:
    """The function with its region headers rewritten. Globals, closure, defaults and line numbers are the original's.

    Raises CaptureError: TW105 without source text, TW106 when the text is not that of this function, and what
    `rewrite` raises.
    """
    code = function.__code__
    tree = _syntax_tree(function)
    definition = _definition(tree, function)
    if not _matches(tree, code):
        raise CaptureError(STALE_SOURCE.at(code_span(code), name=function.__name__))
    made = rewrite(definition, code.co_filename, code.co_qualname, _root_kind(function))
    made.decorator_list = []
    body = _compiled(made, code)
    return Rewritten(_rebuilt(function, body), ast.unparse(made))


def code_span(code: CodeType) -> Span:
    """The line where a function begins."""
    return Span(code.co_filename, code.co_firstlineno, 0, code.co_firstlineno, 0, code.co_qualname)


def _syntax_tree(function: FunctionType) -> ast.Module:
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines or code.co_name == "<lambda>":
        raise CaptureError(NO_SOURCE.at(code_span(code), name=function.__name__))
    try:
        with _PARSER:
            return ast.parse("".join(lines), code.co_filename)
    except SyntaxError:
        raise CaptureError(STALE_SOURCE.at(code_span(code), name=function.__name__)) from None


def _definition(tree: ast.Module, function: FunctionType) -> ast.FunctionDef:
    code = function.__code__
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name and _first_line(node) == code.co_firstlineno:
            return node
    raise CaptureError(STALE_SOURCE.at(code_span(code), name=function.__name__))


def _first_line(node: ast.FunctionDef) -> int:
    return node.decorator_list[0].lineno if node.decorator_list else node.lineno


def _matches(tree: ast.Module, code: CodeType) -> bool:
    """Whether compiling the text gives the code that runs."""
    module: CodeType = compile(tree, code.co_filename, "exec", code.co_flags & _FUTURES, dont_inherit=True)
    return any(
        found == code and found.co_qualname == code.co_qualname and same_places(found, code)
        for found in nested_codes(module)
        if found.co_firstlineno == code.co_firstlineno
    )


def same_places(a: CodeType, b: CodeType) -> bool:
    """Whether both codes name the same lines, so that errors point at what is there."""
    return list(a.co_lines()) == list(b.co_lines())


def nested_codes(code: CodeType) -> Iterator[CodeType]:
    """The code objects inside a code object, at any depth."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from nested_codes(constant)


def _root_kind(function: FunctionType) -> Callable[[str], str | None]:
    """Which region a bare name of this function opens, under whatever name it was imported; None for other names."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))

    code = function.__code__
    local = {*code.co_varnames, *code.co_cellvars}

    def kind(name: str) -> str | None:
        if name in local:
            return None
        meant = _contents(cells[name]) if name in cells else function.__globals__.get(name)
        return "parallel" if meant is parallel else "serial" if meant is serial else None

    return kind


def _contents(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return None


def _compiled(definition: ast.FunctionDef, code: CodeType) -> CodeType:
    """The code of the definition, with the free variables of the original and the hooks."""
    names = [*code.co_freevars, HOOK_NAME]
    bindings: list[ast.stmt] = [
        ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)), definition) for name in names
    ]
    outer = ast.FunctionDef(_OUTER, _no_arguments(), [*bindings, definition], [])
    module = ast.fix_missing_locations(ast.Module([outer], []))
    compiled: CodeType = compile(module, code.co_filename, "exec", code.co_flags & _FUTURES, dont_inherit=True)
    found = next(each for each in nested_codes(compiled) if each.co_name == code.co_name)
    return _renamed(found, found.co_qualname, code.co_qualname)


def _no_arguments() -> ast.arguments:
    return ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])


def _renamed(code: CodeType, old: str, new: str) -> CodeType:
    """Qualified names as they were in the original, inside too."""
    constants = tuple(_renamed(each, old, new) if isinstance(each, CodeType) else each for each in code.co_consts)
    return code.replace(co_qualname=new + code.co_qualname.removeprefix(old), co_consts=constants)


def _rebuilt(original: FunctionType, code: CodeType) -> FunctionType:
    cells = dict(zip(original.__code__.co_freevars, original.__closure__ or (), strict=True))
    cells[HOOK_NAME] = CellType(HOOKS)
    closure = tuple(cells[name] for name in code.co_freevars)
    made = FunctionType(code, original.__globals__, original.__name__, original.__defaults__, closure)
    made.__kwdefaults__ = original.__kwdefaults__
    made.__qualname__ = original.__qualname__
    return made
