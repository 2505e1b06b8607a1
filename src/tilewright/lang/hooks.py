"""What rewritten kernels call: the ends of regions, and the operators that Python does not let a class define."""

from collections.abc import Sequence

from tilewright.core.codes.capture import REGION_HEADER, STAGED_IF, STAGED_WHILE, STORED_AWAY
from tilewright.core.diagnostics import Code
from tilewright.core.errors import CaptureError
from tilewright.core.source import user_span
from tilewright.ir.ops.elementwise import LogicalAndOp, LogicalNotOp, LogicalOrOp
from tilewright.lang import operations
from tilewright.lang.base import StagedBase
from tilewright.lang.carry import OpenRegion
from tilewright.lang.frames import caller_variables
from tilewright.lang.nests import Region
from tilewright.lang.pytrees import holds_staged
from tilewright.lang.refusing import NotAValue
from tilewright.lang.values import wrap

__all__ = ["HOOKS", "Hooks"]


class Hooks:
    """Stateless; the calling frame's variables are read where they matter."""

    def enter(self, region: object, names: Sequence[str]) -> OpenRegion:
        """Opens a region. Raises CaptureError (TW111) when the header's call made something else."""
        if not isinstance(region, Region):
            problem = f"gives a {type(region).__name__}, not a region"
            raise CaptureError(REGION_HEADER.at(user_span(), problem=problem))
        return OpenRegion.open(region, names, caller_variables())

    def leave(self, opened: OpenRegion) -> None:
        """Closes a region at the end of its body."""
        opened.close(caller_variables())

    def stored(self, value: object, opened: OpenRegion, root: str | None, target: str) -> object:
        """`value`, which is about to be stored into an attribute or item of `root`. Raises CaptureError (TW119) when
        it is staged and the object is older than the region.
        """
        owner = caller_variables().get(root or "")
        if isinstance(owner, NotAValue | StagedBase) or not holds_staged(value):
            return value
        is_new = root is not None and root in opened.names and opened.before.get(root) is not owner
        if not is_new:
            raise CaptureError(STORED_AWAY.at(user_span(), target=target, region=opened.frame.describe()))
        return value

    def stops_and(self, left: object) -> bool:
        """Whether `left and ...` is decided without looking on."""
        return not isinstance(left, StagedBase) and not left

    def stops_or(self, left: object) -> bool:
        """Whether `left or ...` is decided without looking on."""
        return not isinstance(left, StagedBase) and bool(left)

    def join_and(self, left: object, right: object) -> object:
        """The rest of `left and right` when the left side did not decide it."""
        if not isinstance(left, StagedBase):
            return right
        return wrap(operations.logical(LogicalAndOp, "`and`", left, right))

    def join_or(self, left: object, right: object) -> object:
        """The rest of `left or right` when the left side did not decide it."""
        if not isinstance(left, StagedBase):
            return right
        return wrap(operations.logical(LogicalOrOp, "`or`", left, right))

    def negate(self, operand: object) -> object:
        """`not operand`."""
        if not isinstance(operand, StagedBase):
            return not operand
        operations.condition(operand, "the operand of `not`")
        return wrap(operations.unary(LogicalNotOp, "`not`", operand))

    def is_staged(self, test: object) -> bool:
        """Whether a conditional expression has to evaluate both arms."""
        return isinstance(test, StagedBase)

    def choose(self, test: object, on_true: object, on_false: object) -> object:
        """`on_true if test else on_false` for a staged test."""
        return wrap(operations.select(test, on_true, on_false))

    def test_if(self, test: object) -> object:
        """The test of an `if` statement. Raises CaptureError (TW113) for a staged one."""
        return self._host_test(test, STAGED_IF)

    def test_while(self, test: object) -> object:
        """The test of a `while` statement. Raises CaptureError (TW114) for a staged one."""
        return self._host_test(test, STAGED_WHILE)

    def _host_test(self, test: object, code: Code) -> object:
        if isinstance(test, StagedBase):
            raise CaptureError(code.at(user_span(), what=test.describe()))
        return test


HOOKS = Hooks()
