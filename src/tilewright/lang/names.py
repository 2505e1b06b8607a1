"""Which variables a piece of Python assigns."""

import ast
from collections.abc import Iterator

__all__ = ["assigned_names", "own_nodes"]

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def assigned_names(body: list[ast.stmt]) -> list[str]:
    """Variables that the statements bind in their own scope, in the order of the text.

    Counts every form: targets of all kinds, `:=` (inside comprehensions too), `with`, `except`, `import`, `def`,
    `class` and the captures of `match`.
    """
    found: dict[str, None] = {}
    for statement in body:
        for node in own_nodes(statement):
            found.update(dict.fromkeys(_bound_by(node)))
    return list(found)


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that belong to the scope of `node`, itself first: not the bodies of functions and classes in it, and
    of comprehensions only what they assign outside themselves.
    """
    yield node
    if isinstance(node, _SCOPES):
        return
    if isinstance(node, _COMPREHENSIONS):
        yield from (inner for inner in ast.walk(node) if isinstance(inner, ast.NamedExpr))
        return
    for child in ast.iter_child_nodes(node):
        yield from own_nodes(child)


def _bound_by(node: ast.AST) -> list[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store()):
            return [name]
        case ast.NamedExpr(target=ast.Name(id=name)):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return [name]
        case ast.MatchMapping(rest=str(name)):
            return [name]
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return [alias.asname or alias.name.partition(".")[0] for alias in aliases]
        case _:
            return []
