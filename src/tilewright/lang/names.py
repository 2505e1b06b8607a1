"""Which variables a piece of Python assigns."""

import ast
from collections.abc import Collection, Iterator

__all__ = ["assigned_names", "forbidden_in_arm", "names_of_inner_functions", "own_nodes", "renewed_names"]

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


def renewed_names(body: list[ast.stmt]) -> list[str]:
    """Variables that a plain assignment of the body binds before anything in it can read them."""
    found: dict[str, None] = {}
    read: set[str] = set()
    for statement in body:
        names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
        bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        read |= {node.id for node in names if isinstance(node.ctx, ast.Load)} - found.keys()
        if isinstance(statement, ast.Assign):
            found.update(dict.fromkeys(sorted(bound - read)))
        elif isinstance(statement, ast.AugAssign):
            read |= bound - found.keys()
    return list(found)


def names_of_inner_functions(function: ast.FunctionDef) -> set[str]:
    """All names in the functions that a function defines."""
    scopes = [node for statement in function.body for node in ast.walk(statement) if isinstance(node, _SCOPES)]
    return {node.id for scope in scopes for node in ast.walk(scope) if isinstance(node, ast.Name)}


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that belong to the scope of `node`, itself first, in the order of the text: not the bodies of functions
    and classes in it, and of comprehensions only what they assign outside themselves.
    """
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        if isinstance(found, _COMPREHENSIONS):
            yield from (inner for inner in ast.walk(found) if isinstance(inner, ast.NamedExpr))
        elif not isinstance(found, _SCOPES):
            waiting.extend(reversed([*ast.iter_child_nodes(found)]))


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


def forbidden_in_arm(body: list[ast.stmt], global_names: Collection[str]) -> str | None:
    """What the arms of an `if` hold that cannot be captured whichever arm is taken, as messages name it."""
    found = (_forbidden(statement, global_names, in_loop=False) for statement in body)
    raised = ("`raise`" for statement in body if isinstance(statement, ast.Raise))
    return next((each for each in (*found, *raised) if each is not None), None)


def _forbidden(node: ast.AST, global_names: Collection[str], *, in_loop: bool) -> str | None:
    match node:
        case ast.Return() | ast.Yield() | ast.YieldFrom() | ast.Await():
            return f"`{type(node).__name__.lower()}`"
        case ast.Break() | ast.Continue() if not in_loop:
            return f"`{type(node).__name__.lower()}`"
        case ast.Delete():
            return "`del`"
        case _:
            pass
    for name in _bound_by(node):
        if name in global_names:
            return f"the assignment to the global variable `{name}`"
    if isinstance(node, _SCOPES):
        return None
    inside = in_loop or isinstance(node, ast.For | ast.While)
    children = (_forbidden(child, global_names, in_loop=inside) for child in ast.iter_child_nodes(node))
    return next((each for each in children if each is not None), None)
