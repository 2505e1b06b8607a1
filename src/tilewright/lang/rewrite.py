"""The rewriting of a kernel's syntax tree.

    for step in nest.serial(shape(k)):      _tw_1 = _tw.enter(nest.serial(shape(k)), ('acc',), ())
        acc = acc + x.at(step)              step = _tw_1.nest
                                            if 'acc' in _tw_1.entering: acc = _tw_1.entering['acc']
                                            acc = acc + x.at(step)
                                            _tw.leave(_tw_1)
                                            if 'acc' in _tw_1.leaving: acc = _tw_1.leaving['acc']

No function is made of the body, so Python's scoping stays as it is. An `if` keeps its bodies too (see `arms`). `and`,
`or`, `not`, chained comparisons and conditional expressions call `_tw`, which does what Python does for host values.
Line and column numbers are kept.
"""

import ast
from collections.abc import Callable, Collection
from copy import deepcopy
from typing import TypeVar

from tilewright.core.codes.capture import REGION_HEADER, REGION_SYNTAX
from tilewright.core.errors import CaptureError
from tilewright.core.source import Span
from tilewright.lang.names import assigned_names, forbidden_in_arm, names_of_inner_functions, own_nodes, renewed_names

__all__ = ["HOOK_NAME", "rewrite"]

HOOK_NAME = "_tw"
_KINDS = ("parallel", "serial", "pipeline", "reduce")
_TEMPORAL = ("serial", "pipeline", "reduce")

NodeT = TypeVar("NodeT", bound=ast.AST)


def rewrite(
    function: ast.FunctionDef, file: str, qualname: str, root_kind: Callable[[str], str | None]
) -> ast.FunctionDef:
    """The function, rewritten where it stands. `root_kind` tells which region, if any, a bare name opens.

    Raises CaptureError: TW109 for statements that a region cannot hold, TW111 for headers that are no region's.
    """
    return _Rewriter(file, qualname, root_kind).function(function)


class _Rewriter(ast.NodeTransformer):
    def __init__(self, file: str, qualname: str, root_kind: Callable[[str], str | None]) -> None:
        self._file = file
        self._qualname = qualname
        self._root_kind = root_kind
        self._order: list[str] = []
        self._globals: set[str] = set()
        self._captured: set[str] = set()  # variables that functions inside read, whenever they are called
        self._open: list[str] = []  # the variables that hold the open temporal regions and branches, innermost last
        self._count = 0

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """A whole function: the order in which its variables first appear is the order in which they are carried."""
        outer = self._order, self._globals, self._captured, self._open
        self._order = [*_parameters(node.args), *assigned_names(node.body)]
        self._globals = {name for each in own_globals(node.body) for name in each.names}
        self._captured = names_of_inner_functions(node)
        self._open = []
        node.body = self._block(node.body)
        self._order, self._globals, self._captured, self._open = outer
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        return self.function(node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        remedy = "return the value from the function and assign it where it is called"
        raise self._syntax(node, f"`nonlocal {', '.join(node.names)}`", remedy)

    def _block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for statement in body:
            made = self.visit(statement)
            found.extend(made if isinstance(made, list) else [made])  # pyright: ignore[reportUnknownArgumentType]
        return found

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        kind = self._region_kind(node.iter)
        if kind is None:
            return self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            problem = "binds something else than one name"
            raise CaptureError(REGION_HEADER.at(self._span(node.target), problem=problem))
        self._check_body(node)
        return self._region(node, node.target, kind)

    def _region_kind(self, header: ast.expr) -> str | None:
        match header:
            case ast.Call(func=ast.Name(id=name)):
                return self._root_kind(name)
            case ast.Call(func=ast.Attribute(attr=name)) if name in _KINDS:
                return name
            case _:
                return None

    def _region(self, node: ast.For, target: ast.Name, kind: str) -> list[ast.stmt]:
        names = sorted(set(assigned_names(node.body)) - {target.id}, key=self._order.index)
        for name in self._globals.intersection(names):
            raise self._syntax(node.iter, f"the global variable `{name}` is assigned", "use a variable of the kernel")
        self._count += 1
        variable = f"{HOOK_NAME}_{self._count}"
        header = self.visit(node.iter)
        here = _At(node.iter)
        listed = _texts([*names, target.id])
        renewed = _texts([name for name in renewed_names(node.body) if name not in self._captured])
        opened = here(ast.Assign([_store(variable)], _hook("enter", header, listed, renewed)))
        handle = here(ast.Assign([_store(target.id)], ast.Attribute(_load(variable), "nest", ast.Load())))
        entering = [here(_rebinding(name, variable, "entering")) for name in names] if kind in _TEMPORAL else []
        body = self._inside(variable, node.body) if kind in _TEMPORAL else self._block(node.body)
        closed = here(ast.Expr(_hook("leave", _load(variable))))
        leaving = [here(_rebinding(name, variable, "leaving")) for name in [*names, target.id]]
        return [opened, handle, *entering, *body, closed, *leaving]

    def _inside(self, variable: str, body: list[ast.stmt]) -> list[ast.stmt]:
        """A body whose stores into objects are checked by what `variable` holds."""
        self._open.append(variable)
        made = self._block(body)
        self._open.pop()
        return made

    def _check_body(self, node: ast.For) -> None:
        if node.orelse:
            raise self._syntax(node.orelse[0], "`else`", "put the statements after the loop")
        for statement in node.body:
            self._check_statement(statement, in_host_loop=False)

    def _check_statement(self, node: ast.AST, *, in_host_loop: bool) -> None:
        """Refuses what leaves a region early or assigns variables unseen; loops of the host keep their own exits."""
        match node:
            case ast.Break() | ast.Continue() if not in_host_loop:
                word = type(node).__name__.lower()
                raise self._syntax(node, f"`{word}`", "store or update under a condition, with where=")
            case ast.Return():
                raise self._syntax(node, "`return`", "let the body run to its end")
            case ast.Yield() | ast.YieldFrom() | ast.Await():
                raise self._syntax(node, f"`{type(node).__name__.lower()}`", "a kernel is an ordinary function")
            case ast.Delete():
                raise self._syntax(node, "`del`", "leave the variable alone")
            case ast.Global():
                raise self._syntax(node, f"`global {', '.join(node.names)}`", "use a variable of the kernel")
            case _:
                pass
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            return
        if isinstance(node, ast.For) and self._region_kind(node.iter) is not None:
            return  # checked when it is rewritten
        is_loop = isinstance(node, ast.For | ast.While)
        for child in ast.iter_child_nodes(node):
            self._check_statement(child, in_host_loop=in_host_loop or is_loop)

    def visit_If(self, node: ast.If) -> list[ast.stmt]:
        names = assigned_names([*node.body, *node.orelse])
        forbidden = ast.Constant(forbidden_in_arm([*node.body, *node.orelse], self._globals))
        self._count += 1
        variable = f"{HOOK_NAME}_{self._count}"
        here = _At(node.test)
        listed = ast.Tuple([ast.Constant(name) for name in names], ast.Load())
        opened = here(ast.Assign([_store(variable)], _hook("branch", self.visit(node.test), listed, forbidden)))
        first = here(ast.If(_attribute(variable, "then"), self._inside(variable, node.body), []))
        turned = here(ast.Expr(_hook("turn", _load(variable))))
        restored = [here(_rebinding(name, variable, "restored")) for name in names]
        otherwise = self._inside(variable, node.orelse) or [here(ast.Pass())]
        second = here(ast.If(_attribute(variable, "otherwise"), otherwise, []))
        closed = here(ast.Expr(_hook("merge", _load(variable))))
        merged = [here(_rebinding(name, variable, "merged")) for name in names]
        return [opened, first, turned, *restored, second, closed, *merged]

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        node.test = _At(node.test)(_hook("test_while", node.test))
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        targets = [target for each in node.targets for target in _object_targets(each)]
        self.generic_visit(node)
        for target in targets:
            node.value = self._checked(node.value, target, node)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        targets = _object_targets(node.target)
        self.generic_visit(node)
        for target in targets:
            node.value = self._checked(node.value, target, node)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        targets = _object_targets(node.target)
        self.generic_visit(node)
        if node.value is not None:
            for target in targets:
                node.value = self._checked(node.value, target, node)
        return node

    def _checked(self, value: ast.expr, target: ast.expr, statement: ast.stmt) -> ast.expr:
        """The value passes through a check when it goes into an object inside a temporal region or a branch."""
        if not self._open:
            return value
        root = ast.Constant(_root(target))
        opened = ast.Tuple([_load(variable) for variable in self._open], ast.Load())
        call = _hook("stored", value, opened, root, ast.Constant(ast.unparse(target)))
        return _At(statement)(call)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        word = "and" if isinstance(node.op, ast.And) else "or"
        joined = node.values[0]
        for right in node.values[1:]:
            joined = self._joined(word, joined, right, node)
        return joined

    def _joined(self, word: str, left: ast.expr, right: ast.expr, node: ast.AST) -> ast.expr:
        """`left and right` as `t if _tw.stops_and(t := left) else _tw.join_and(t, _tw.guard_and(t), right)`."""
        kept, read = self._temporary()
        test = _hook(f"stops_{word}", ast.NamedExpr(kept, left))
        return _At(node)(ast.IfExp(test, read, _hook(f"join_{word}", read, _hook(f"guard_{word}", read), right)))

    def _temporary(self) -> tuple[ast.Name, ast.Name]:
        self._count += 1
        name = f"{HOOK_NAME}_{self._count}"
        return _store(name), _load(name)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        parts: list[ast.expr] = []
        left = node.left
        for op, right in zip(node.ops[:-1], node.comparators[:-1], strict=True):
            kept, read = self._temporary()
            parts.append(_At(node)(ast.Compare(left, [op], [ast.NamedExpr(kept, right)])))
            left = read
        joined = _At(node)(ast.Compare(left, [node.ops[-1]], [node.comparators[-1]]))
        for part in reversed(parts):
            joined = self._joined("and", part, joined, node)
        return joined

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return _At(node)(_hook("negate", node.operand)) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        kept, read = self._temporary()
        held, arm = self._temporary()
        first = ast.Tuple([ast.NamedExpr(held, _hook("first_arm", read)), deepcopy(node.body)], ast.Load())
        value = ast.Subscript(first, ast.Constant(1), ast.Load())
        both = _hook("choose", read, value, _hook("second_arm", read, arm), deepcopy(node.orelse))
        one = ast.IfExp(read, node.body, node.orelse)
        return _At(node)(ast.IfExp(_hook("is_staged", ast.NamedExpr(kept, node.test)), both, one))

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """Iterables stay as they are: Python allows no assignment expression there."""
        node.ifs = [self.visit(test) for test in node.ifs]
        return node

    def _syntax(self, node: ast.AST, what: str, remedy: str) -> CaptureError:
        return CaptureError(REGION_SYNTAX.at(self._span(node), what=what, remedy=remedy))

    def _span(self, node: ast.AST) -> Span:
        return span_at(node, self._file, self._qualname)


class _At:
    """Gives made nodes the place of the node they stand for."""

    def __init__(self, place: ast.AST) -> None:
        self._place = place

    def __call__(self, node: NodeT) -> NodeT:
        for inner in ast.walk(node):
            if isinstance(inner, ast.expr | ast.stmt) and not hasattr(inner, "lineno"):
                ast.copy_location(inner, self._place)
        return node


def span_at(node: ast.AST, file: str, qualname: str) -> Span:
    """Where a node of the syntax tree stands."""
    line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
    end_line, end_column = getattr(node, "end_lineno", line), getattr(node, "end_col_offset", column)
    return Span(file, line, column + 1, end_line, end_column + 1, qualname)


def _texts(names: Collection[str]) -> ast.Tuple:
    return ast.Tuple([ast.Constant(name) for name in names], ast.Load())


def _hook(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(_load(HOOK_NAME), name, ast.Load()), list(arguments), [])


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def _attribute(name: str, attribute: str) -> ast.Attribute:
    return ast.Attribute(_load(name), attribute, ast.Load())


def _rebinding(name: str, region: str, table: str) -> ast.If:
    """`if 'name' in region.table: name = region.table['name']`."""
    value = ast.Subscript(_attribute(region, table), ast.Constant(name), ast.Load())
    test = ast.Compare(ast.Constant(name), [ast.In()], [_attribute(region, table)])
    return ast.If(test, [ast.Assign([_store(name)], value)], [])


def _object_targets(target: ast.expr) -> list[ast.expr]:
    """The attributes and items among the targets of an assignment."""
    return [node for node in own_nodes(target)
            if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store)]  # fmt: skip


def _root(target: ast.expr) -> str | None:
    """The variable whose object is changed by an assignment to `target`."""
    while isinstance(target, ast.Attribute | ast.Subscript | ast.Starred):
        target = target.value
    return target.id if isinstance(target, ast.Name) else None


def own_globals(body: list[ast.stmt]) -> list[ast.Global]:
    """The `global` statements of a function, those of functions inside it left out."""
    return [node for statement in body for node in own_nodes(statement) if isinstance(node, ast.Global)]


def _parameters(arguments: ast.arguments) -> Collection[str]:
    positional = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [argument.arg for argument in positional]
