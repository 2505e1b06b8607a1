"""Every guard, yield, fill, tail and cast of the rule tables, and the fault that can be planted there."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Site", "planted", "sites_of"]

SWAPS = {
    "extui": "extsi", "extsi": "extui", "minsi": "maxsi", "maxsi": "minsi", "minui": "maxui", "maxui": "minui",
    "sitofp": "uitofp", "uitofp": "sitofp", "fptosi": "fptoui", "fptoui": "fptosi", "zext": "sext", "sext": "zext",
    "shrui": "shrsi", "shrsi": "shrui", "divsi": "divui", "remsi": "remui",
}  # fmt: skip
PREDICATES = {
    "slt": "sle", "sle": "slt", "sgt": "sge", "sge": "sgt", "ult": "ule", "ule": "ult", "ugt": "uge", "uge": "ugt",
    "olt": "ole", "oeq": "ueq", "uno": "ord", "eq": "ne", "ne": "eq",
}  # fmt: skip
FILLS = ("fill", "passthru", "otherwise", "poison")
GUARDS = ("mask", "where", "guards", "predicate", "condition")
TAIL_WORDS = ("extent", "bound", "limit", "rest", "tail", "lanes", "width", "count", "active", "last", "packets")
_BESIDE: dict[type[ast.cmpop], str] = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
CASTS = ("extf", "truncf", "trunci", "widened", "narrowed", "widened_to_float", "narrowed_from_float", "to_float")


@dataclass(frozen=True, slots=True)
class Site:
    """One place: which kind it is, and the text that replaces a stretch of the file."""

    file: str
    line: int
    kind: str
    before: str
    after: str
    start: int
    end: int

    @property
    def text(self) -> str:
        """What it says, wherever in the file."""
        return f"{self.file} [{self.kind}] {self.before} -> {self.after}"

    def __str__(self) -> str:
        return f"{self.file}:{self.line} [{self.kind}] {self.before!r} -> {self.after!r}"


def sites_of(path: Path, shown: str) -> list[Site]:
    """The sites of one file, from the top."""
    text = path.read_text()
    tree = ast.parse(text)
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: dict[tuple[int, int, str], Site] = {}
    for node in ast.walk(tree):
        for kind, target, after in _faults(node):
            start = starts[target.lineno - 1] + target.col_offset
            end = starts[(target.end_lineno or target.lineno) - 1] + (target.end_col_offset or 0)
            before = text.encode()[start:end].decode()
            if before != after:
                found[start, end, after] = Site(shown, target.lineno, kind, before, after, start, end)
    return sorted(found.values(), key=lambda site: (site.start, site.end, site.after))


def planted(text: str, site: Site) -> str:
    """The file with the fault."""
    raw = text.encode()
    return (raw[: site.start] + site.after.encode() + raw[site.end :]).decode()


Fault = tuple[str, ast.expr, str]


def _faults(node: ast.AST) -> Iterator[Fault]:
    for rule in _RULES:
        yield from rule(node)


def _arguments(node: ast.AST) -> Iterator[Fault]:
    """A guard or a fill that is passed on is forgotten."""
    if not isinstance(node, ast.Call) or _name(node.func) in ("Rule", "Guards", "__init__"):
        return
    for keyword in node.keywords:
        if keyword.arg in FILLS + GUARDS and not _is_none(keyword.value):
            yield ("fill" if keyword.arg in FILLS else "guard"), keyword.value, "None"


def _guards(node: ast.AST) -> Iterator[Fault]:
    """Lanes past the end take part; the user's mask does not count; a bound is not checked."""
    if not isinstance(node, ast.Call):
        return
    name = _name(node.func)
    if name in ("lanes_active", "predicate_guards") and node.args:
        yield "guard", node.args[-1], "None"
    if name == "guards_of" and len(node.args) == 4:
        yield "guard", node.args[3], "None"
    if name == "first_lanes" and node.args:
        yield "tail", node.args[-1 if len(node.args) == 1 else 0], f"{ast.unparse(node.args[0])} - 1"


def _yields(node: ast.AST) -> Iterator[Fault]:
    """A loop keeps what it had; a fold visits the other way."""
    if not isinstance(node, ast.Call):
        return
    name = _name(node.func)
    if name == "yield_" and isinstance(node.func, ast.Attribute) and node.args:
        receiver = ast.unparse(node.func.value)
        if receiver != "self":
            yield "yield", node.args[0], f"{receiver}.carries"
    if name == "step_coord" and len(node.args) == 4:
        yield "yield", node, f"Coord({ast.unparse(node.args[2])})"
    if name in ("define", "update") and len(node.args) == 2 and isinstance(node.args[1], ast.Name):
        return


def _tails(node: ast.AST) -> Iterator[Fault]:
    """One more, or one less, where something ends."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and _about(node, TAIL_WORDS):
        other = _BESIDE.get(type(node.ops[0]))
        if other:
            yield "tail", node, f"{ast.unparse(node.left)} {other} {ast.unparse(node.comparators[0])}"
    if (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add | ast.Sub)
        and _is_one(node.right)
        and _about(node, TAIL_WORDS)
    ):
        yield "tail", node, ast.unparse(node.left)


def _words(node: ast.AST) -> Iterator[Fault]:
    """The instruction beside it, in a builder's method or in a table."""
    if isinstance(node, ast.Attribute) and node.attr in SWAPS:
        yield "cast", node, f"{ast.unparse(node.value)}.{SWAPS[node.attr]}"
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if node.value in SWAPS:
            yield "cast", node, repr(SWAPS[node.value])
        elif node.value in PREDICATES:
            yield "guard", node, repr(PREDICATES[node.value])


def _casts(node: ast.AST) -> Iterator[Fault]:
    """A conversion that does not happen."""
    if isinstance(node, ast.Call) and _name(node.func) in CASTS and node.args:
        value = (
            node.args[1]
            if len(node.args) > 1 and ast.unparse(node.args[0]) in ("cx", "b", "f", "cx.f")
            else node.args[0]
        )
        yield "cast", node, ast.unparse(value)


def _conditions(node: ast.AST) -> Iterator[Fault]:
    """The other branch, where a rule asks about a mask, a fill, a policy or a bound."""
    if isinstance(node, ast.If | ast.IfExp) and _about(
        node.test, (*GUARDS, *FILLS, "policy", "unsigned", "signed", "FOLD_RIGHT")
    ):
        kind = "fill" if _about(node.test, FILLS) else "guard"
        yield kind, node.test, f"(not ({ast.unparse(node.test)}))"


_RULES: tuple[Callable[[ast.AST], Iterator[Fault]], ...] = (
    _arguments, _guards, _yields, _tails, _words, _casts, _conditions,
)  # fmt: skip


def _name(function: ast.expr) -> str:
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _is_one(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value == 1 and not isinstance(value.value, bool)


def _about(node: ast.AST, words: tuple[str, ...]) -> bool:
    text = ast.unparse(node)
    return any(word in text for word in words)
