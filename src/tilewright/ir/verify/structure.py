"""Rules of structure: values reach their uses, operations are TileIR and satisfy their declarations."""

from collections.abc import Hashable, Iterable

from xdsl.ir import Block, BlockArgument, ErasedSSAValue, Operation, SSAValue
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import DiagnosticException

from tilewright.core.codes.effects import IMPURE_BODY
from tilewright.core.diagnostics import Label
from tilewright.ir.effects import effect_of
from tilewright.ir.location import span_of
from tilewright.ir.verify.rule import Findings, Rule, malformed, op_text

FOREIGN_OP = malformed("V-OP-1", "{name} is not an operation of TileIR")
DECLARATION = malformed("V-OP-2", "{op} violates its declaration: {reason}")
EARLY_USE = malformed("V-DOM-1", "{op} uses a value before its definition")
ESCAPE = malformed("V-DOM-2", "{op} uses a value of a region that has ended")
UNKNOWN_VALUE = malformed("V-DOM-3", "{op} uses a value that the module does not define")
ISOLATED = malformed("V-DOM-4", "{op} uses a value from outside of its kernel")
IMPURE = Rule("V-PURE-1", IMPURE_BODY, "{op} has an effect inside {body}")

RULES = (FOREIGN_OP, DECLARATION, EARLY_USE, ESCAPE, UNKNOWN_VALUE, ISOLATED, IMPURE)


def check_operands(op: Operation, visible: set[SSAValue], module: Operation, found: Findings) -> bool:
    """Whether every operand reaches `op`; what does not is reported."""
    lost = [operand for operand in op.operands if operand not in visible]
    for operand in lost:
        rule = _why_lost(operand, op, module)
        labels = [] if isinstance(operand, ErasedSSAValue) else [Label(span_of(operand), "the value")]
        found.add(rule, op, labels=labels, op=op_text(op))
    return not lost


class Accepted:
    """Declarations that hold, by all that they speak about. Most operations of a module look like one before, and more
    do when it is verified again after a pass.
    """

    def __init__(self) -> None:
        self._looks: set[Hashable] = set()

    def require(self, op: Operation) -> None:
        """Raises what xDSL says against the operation by itself. Traits, which look around it, are asked each time."""
        look = _look(op)
        if look not in self._looks:
            op.verify_()
            self._looks.add(look)
            return
        for trait in op.traits:
            trait.verify(op)


def _look(op: Operation) -> Hashable:
    """All that a declaration speaks about."""
    values = *(value.type for value in op.operands), None, *(value.type for value in op.results)
    named = *op.properties.items(), None, *op.attributes.items()
    bodies = tuple(tuple(block.arg_types for block in region.blocks) for region in op.regions)
    return type(op), values, named, bodies, len(op.successors)


def check_declaration(op: Operation, found: Findings, accepted: Accepted) -> bool:
    """Whether xDSL accepts the operation by itself: operand and result kinds, properties, regions.

    A yield in the middle of a body is left to the rule about yields.
    """
    if op.has_trait(IsTerminator) and op.next_op is not None:
        return True
    try:
        accepted.require(op)
    except (DiagnosticException, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        found.add(DECLARATION, op, op=op_text(op), reason=reason)
        return False
    return True


def check_purity(op: Operation, pure_body: Operation, found: Findings) -> None:
    """Inside `pure_body` nothing touches storage."""
    if effect_of(op):
        found.add(IMPURE, op, op=op_text(op), body=op_text(pure_body))


def _why_lost(operand: SSAValue, user: Operation, module: Operation) -> Rule:
    if isinstance(operand, ErasedSSAValue):
        return UNKNOWN_VALUE
    home = operand.block if isinstance(operand, BlockArgument) else _block_of(operand.owner)
    if home is None or not module.is_ancestor(home):
        return UNKNOWN_VALUE
    if home not in _blocks_around(user):
        return ESCAPE
    return EARLY_USE if not isinstance(operand, BlockArgument) and _same_kernel(user, home) else ISOLATED


def _block_of(owner: Operation | Block) -> Block | None:
    return owner.parent if isinstance(owner, Operation) else owner


def _blocks_around(op: Operation) -> Iterable[Block]:
    block = op.parent
    while block is not None:
        yield block
        parent = block.parent_op()
        block = None if parent is None else parent.parent


def _same_kernel(user: Operation, home: Block) -> bool:
    """Whether no kernel boundary lies between `user` and the block `home` around it."""
    for block in _blocks_around(user):
        if block is home:
            return True
        parent = block.parent_op()
        if parent is not None and parent.name == "tile.kernel":
            return False
    return False
