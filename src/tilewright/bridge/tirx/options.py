"""What a user may fix about the TIRx of a kernel."""

from dataclasses import dataclass

from tilewright.bridge.tirx.sharing import SharedSSA
from tilewright.core.codes.unsupported import BAD_PLAN_OPTION
from tilewright.core.errors import PlanError
from tilewright.core.source import user_span

__all__ = ["TirxOptions"]


@dataclass(frozen=True, slots=True)
class TirxOptions:
    """Options of the lowering TIRX. A value out of range is refused with PlanError (TW426).

    `shared_ssa` says which tiles with several readers are computed once. `noalias` is the caller's promise that what
    is written overlaps no other argument.
    """

    shared_ssa: SharedSSA = SharedSSA.PRESERVE
    noalias: bool = False

    def __post_init__(self) -> None:
        _require("shared_ssa", self.shared_ssa, "a SharedSSA", holds=isinstance(self.shared_ssa, SharedSSA))
        _require("noalias", self.noalias, "True or False", holds=isinstance(self.noalias, bool))


def _require(option: str, value: object, allowed: str, *, holds: bool) -> None:
    if not holds:
        raise PlanError(BAD_PLAN_OPTION.at(user_span(), option=option, value=value, allowed=allowed))
