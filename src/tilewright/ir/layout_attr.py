"""A layout as an attribute: the index map from a memory's elements to its storage cells, written as a program.

Each step is a constant, a coordinate (by position in the domain) or an operation on two earlier steps, so that shared
expressions are stored, compared and printed once:

    #tile.layout<[0:4, 1:4] -> [2:16], [axis 0, constant 4, mul 0 1, axis 1, add 2 3] gives [4]>
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntAttr
from xdsl.ir import Attribute, Data, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from tilewright.core.codes.types import UNSAFE_LAYOUT
from tilewright.core.errors import TileTypeError
from tilewright.core.source import user_span
from tilewright.ir.index_expr import ExprKind, IndexExpr, constant, coordinate, in_order
from tilewright.ir.index_map import IndexMap
from tilewright.ir.types import SpaceAttr, parse_axes, print_axes

__all__ = ["LayoutAttr", "LayoutStepAttr"]

Step = tuple[str, int, int]
_LEAVES = (ExprKind.CONSTANT, ExprKind.COORDINATE)


@irdl_attr_definition
class LayoutStepAttr(Data[Step]):
    """One step: its kind and one number (constant, axis) or the numbers of two earlier steps."""

    name = "tile.layout_step"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Step:
        with parser.in_angle_brackets():
            return _parse_step(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(_step_text(self.data))


@irdl_attr_definition
class LayoutAttr(ParametrizedAttribute):
    """An index map from `domain` to `codomain`."""

    name = "tile.layout"
    domain: SpaceAttr = param_def()
    codomain: SpaceAttr = param_def()
    steps: ArrayAttr[LayoutStepAttr] = param_def()
    results: ArrayAttr[IntAttr] = param_def()

    @staticmethod
    def of(index_map: IndexMap) -> "LayoutAttr":
        """The attribute of a map. Raises TileTypeError (TW281) when its parts do not fit together."""
        fault = index_map.fault()
        if fault:
            raise TileTypeError(UNSAFE_LAYOUT.at(user_span(), what=f"it has {fault}"))
        number: dict[int, int] = {}
        known: dict[Step, int] = {}
        for node in in_order(index_map.outputs):
            step = _step_of(node, number, index_map.domain)
            number[id(node)] = known.setdefault(step, len(known))
        steps = ArrayAttr([LayoutStepAttr(step) for step in known])
        results = ArrayAttr([IntAttr(number[id(output)]) for output in index_map.outputs])
        return LayoutAttr(index_map.domain, index_map.codomain, steps, results)

    @property
    def map(self) -> IndexMap:
        """The index map that the steps describe."""
        nodes: list[IndexExpr] = []
        for step in self.steps.data:
            nodes.append(_node_of(step.data, nodes, self.domain))
        return IndexMap(self.domain, self.codomain, tuple(nodes[result.data] for result in self.results.data))

    def verify(self) -> None:
        _check(self)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            print_axes(printer, self.domain)
            printer.print_string(" -> ")
            print_axes(printer, self.codomain)
            steps = ", ".join(_step_text(step.data) for step in self.steps.data)
            results = ", ".join(str(result.data) for result in self.results.data)
            printer.print_string(f", [{steps}] gives [{results}]")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            domain = parse_axes(parser)
            parser.parse_punctuation("->")
            codomain = parse_axes(parser)
            parser.parse_punctuation(",")
            steps = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_step(parser))
            parser.parse_keyword("gives")
            results = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        return [
            domain,
            codomain,
            ArrayAttr([LayoutStepAttr(step) for step in steps]),
            ArrayAttr([IntAttr(result) for result in results]),
        ]


def _step_of(node: IndexExpr, number: dict[int, int], domain: SpaceAttr) -> Step:
    if node.dim is not None:
        return node.kind.value, domain.dims.index(node.dim), 0
    if node.lhs is None or node.rhs is None:
        return node.kind.value, node.value, 0
    return node.kind.value, number[id(node.lhs)], number[id(node.rhs)]


def _node_of(step: Step, nodes: Sequence[IndexExpr], domain: SpaceAttr) -> IndexExpr:
    kind, a, b = ExprKind(step[0]), step[1], step[2]
    match kind:
        case ExprKind.CONSTANT:
            return constant(a)
        case ExprKind.COORDINATE:
            return coordinate(domain.dims[a])
        case _:
            return IndexExpr(kind, lhs=nodes[a], rhs=nodes[b])


def _check(layout: LayoutAttr) -> None:
    """Raises VerifyException when a step refers to what does not precede it."""
    from xdsl.utils.exceptions import VerifyException

    for index, step in enumerate(layout.steps.data):
        kind, a, b = step.data
        if kind == ExprKind.COORDINATE:
            sound = 0 <= a < layout.domain.rank
        else:
            sound = kind == ExprKind.CONSTANT or (0 <= a < index and 0 <= b < index)
        if not sound:
            raise VerifyException(f"step {index} of the layout refers to what does not precede it")
    if len(layout.results.data) != layout.codomain.rank:
        raise VerifyException(f"the layout gives {len(layout.results.data)} results for {layout.codomain.rank} axes")
    if not all(0 <= result.data < len(layout.steps.data) for result in layout.results.data):
        raise VerifyException("a result of the layout is none of its steps")


def _step_text(step: Step) -> str:
    kind, a, b = step
    return f"{kind} {a}" if kind in _LEAVES else f"{kind} {a} {b}"


def _parse_step(parser: AttrParser) -> Step:
    kind = parser.parse_identifier()
    if kind not in {member.value for member in ExprKind}:
        parser.raise_error(f"{kind} is not a kind of layout step")
    first = parser.parse_integer(allow_boolean=False)
    second = 0 if kind in _LEAVES else parser.parse_integer(allow_boolean=False, allow_negative=False)
    return kind, first, second
