"""Parsers for arith operations on vectors, which xDSL prints but, knowing scalars only, does not read back."""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser

from tilewright.xir.builder import CMPF, CMPI
from tilewright.xir.types import I1, lanes_of, vector_of

__all__ = ["SYNTAX"]

_CASTS: tuple[type[Operation], ...] = (
    *(arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.SIToFPOp, arith.UIToFPOp),
    *(arith.FPToSIOp, arith.FPToUIOp, arith.ExtFOp, arith.TruncFOp, arith.BitcastOp),
)


def _parse_cast(parser: Parser, op: type[Operation]) -> Operation:
    """`%x : from to into`."""
    operand = parser.parse_unresolved_operand()
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    source = parser.parse_type()
    parser.parse_keyword("to")
    operands = parser.resolve_operands([operand], [source], parser.pos)
    return op.create(operands=operands, result_types=[parser.parse_type()], attributes=attributes)


def _parse_compare(parser: Parser, op: type[Operation], predicates: tuple[str, ...]) -> Operation:
    """`predicate, %a, %b (fastmath<..>)? : type`."""
    predicate = predicates.index(parser.parse_identifier())
    parser.parse_punctuation(",")
    left = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    right = parser.parse_unresolved_operand()
    properties: dict[str, Attribute] = {"predicate": IntegerAttr(predicate, 64)}
    if op is arith.CmpfOp:
        properties["fastmath"] = _parse_fastmath(parser)
    parser.parse_punctuation(":")
    kind = parser.parse_type()
    operands = parser.resolve_operands([left, right], [kind, kind], parser.pos)
    return op.create(operands=operands, result_types=[vector_of(I1, lanes_of(kind))], properties=properties)


def _parse_fastmath(parser: Parser) -> arith.FastMathFlagsAttr:
    if parser.parse_optional_keyword("fastmath") is None:
        return arith.FastMathFlagsAttr("none")
    return arith.FastMathFlagsAttr(cast(Any, arith.FastMathFlagsAttr.parse_parameter(parser)))


def _parse_select(parser: Parser, op: type[Operation]) -> Operation:
    """`%cond, %a, %b : type`; the condition is i1 or a mask, as its definition says."""
    names = [parser.parse_unresolved_operand()]
    for _ in range(2):
        parser.parse_punctuation(",")
        names.append(parser.parse_unresolved_operand())
    parser.parse_punctuation(":")
    kind = parser.parse_type()
    defined = parser.ssa_values.get(names[0].operand_name)
    cond = I1 if defined is None else defined[names[0].index].type
    operands = parser.resolve_operands(names, [cond, kind, kind], parser.pos)
    return op.create(operands=operands, result_types=[kind])


def _reader(op: type[Operation], parse: Callable[[Parser, type[Operation]], Operation]) -> type[Operation]:
    """A stand-in for `op` in a parsing context: its `parse` makes operations of the class `op`."""

    def read(_: type[Operation], parser: Parser) -> Operation:
        return parse(parser, op)

    return type(f"{op.__name__}Reader", (op,), {"name": op.name, "parse": classmethod(read), "create": op.create})


SYNTAX: tuple[type[Operation], ...] = (
    *(_reader(op, _parse_cast) for op in _CASTS),
    _reader(arith.CmpiOp, partial(_parse_compare, predicates=CMPI)),
    _reader(arith.CmpfOp, partial(_parse_compare, predicates=CMPF)),
    _reader(arith.SelectOp, _parse_select),
)
