"""What rewritten kernels call: the ends of regions, and the operators that Python does not let a class define."""

from collections.abc import Sequence

from tilewright.core.codes.capture import REGION_HEADER, STAGED_WHILE, STORED_AWAY
from tilewright.core.errors import CaptureError
from tilewright.core.source import user_span
from tilewright.ir.ops.elementwise import LogicalAndOp, LogicalNotOp, LogicalOrOp
from tilewright.lang import operations
from tilewright.lang.arms import Branch, HostBranch, StagedBranch, branch_on
from tilewright.lang.base import StagedBase
from tilewright.lang.carry import OpenRegion
from tilewright.lang.containers import BOTH_ARMS
from tilewright.lang.context import Arm, current
from tilewright.lang.frames import caller_variables
from tilewright.lang.nests import Region
from tilewright.lang.pytrees import holds_staged
from tilewright.lang.refusing import NotAValue
from tilewright.lang.values import wrap

__all__ = ["HOOKS", "Hooks"]


class Hooks:
    """Stateless; the calling frame's variables are read where they matter."""

    def enter(self, region: object, names: Sequence[str], renewed: Sequence[str]) -> OpenRegion:
        """Opens a region whose body binds `names`, the `renewed` ones before it reads them.

        Raises CaptureError (TW111) when the header's call made something else.
        """
        if not isinstance(region, Region):
            problem = f"gives a {type(region).__name__}, not a region"
            raise CaptureError(REGION_HEADER.at(user_span(), problem=problem))
        return OpenRegion.open(region, names, renewed, caller_variables())

    def leave(self, opened: OpenRegion) -> None:
        """Closes a region at the end of its body."""
        opened.close(caller_variables())

    def branch(self, test: object, names: Sequence[str], forbidden: str | None) -> HostBranch | StagedBranch:
        """Begins an `if` whose arms bind `names`. Raises what `branch_on` raises."""
        return branch_on(test, names, forbidden, caller_variables())

    def turn(self, branch: Branch) -> None:
        """Between the arms of an `if`."""
        branch.turn(caller_variables())

    def merge(self, branch: Branch) -> None:
        """After the arms of an `if`."""
        branch.merge(caller_variables())

    def stored(self, value: object, opened: Sequence[OpenRegion | Branch], root: str | None, target: str) -> object:
        """`value`, which is about to be stored into an attribute or item of `root`. Raises CaptureError (TW119) when
        it is staged and the object is older than the innermost region, or whatever it is in an arm of a staged `if`.
        """
        inner = next((each for each in reversed(opened) if not isinstance(each, HostBranch)), None)
        owner = caller_variables().get(root or "")
        if inner is None or isinstance(owner, NotAValue | StagedBase):
            return value
        in_arm = isinstance(inner, StagedBranch)
        if not isinstance(inner, OpenRegion | StagedBranch) or not (in_arm or holds_staged(value)):
            return value
        if root is None or root not in inner.names or inner.before.get(root) is owner:
            what = "a staged value" if holds_staged(value) else "a host value"
            why, region = BOTH_ARMS if in_arm else None, inner.describe()
            raise CaptureError(STORED_AWAY.at(user_span(), what=what, why=why, target=target, region=region))
        return value

    def guard_and(self, left: object) -> Arm | None:
        """Opens the right side of `left and ...`: it matters where `left` holds."""
        return self._guard(left, "the left side of `and`", wanted=True)

    def guard_or(self, left: object) -> Arm | None:
        """Opens the right side of `left or ...`: it matters where `left` does not hold."""
        return self._guard(left, "the left side of `or`", wanted=False)

    def first_arm(self, test: object) -> Arm | None:
        """Opens the first value of a conditional expression on a staged test."""
        return self._guard(test, "the condition", wanted=True)

    def second_arm(self, test: object, first: Arm) -> Arm | None:
        """Closes the first and opens the second."""
        current("a conditional expression").leave_arm(first)
        return self._guard(test, "the condition", wanted=False)

    def _guard(self, test: object, role: str, *, wanted: bool) -> Arm | None:
        if not isinstance(test, StagedBase):
            return None
        return current(role).enter_arm(operations.condition(test, role), wanted=wanted)

    def stops_and(self, left: object) -> bool:
        """Whether `left and ...` is decided without looking on."""
        return not isinstance(left, StagedBase) and not left

    def stops_or(self, left: object) -> bool:
        """Whether `left or ...` is decided without looking on."""
        return not isinstance(left, StagedBase) and bool(left)

    def join_and(self, left: object, arm: Arm | None, right: object) -> object:
        """The rest of `left and right` when the left side did not decide it."""
        if arm is None:
            return right
        arm_ends(arm)
        return wrap(operations.logical(LogicalAndOp, "`and`", left, right))

    def join_or(self, left: object, arm: Arm | None, right: object) -> object:
        """The rest of `left or right` when the left side did not decide it."""
        if arm is None:
            return right
        arm_ends(arm)
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

    def choose(self, test: object, on_true: object, arm: Arm, on_false: object) -> object:
        """`on_true if test else on_false` for a staged test."""
        arm_ends(arm)
        return wrap(operations.select(test, on_true, on_false))

    def test_while(self, test: object) -> object:
        """The test of a `while` statement. Raises CaptureError (TW114) for a staged one."""
        if isinstance(test, StagedBase):
            raise CaptureError(STAGED_WHILE.at(user_span(), what=test.describe()))
        return test


def arm_ends(arm: Arm) -> None:
    """Closes the innermost arm, which is this one."""
    current("an arm").leave_arm(arm)


HOOKS = Hooks()
