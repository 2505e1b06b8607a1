"""Rules that need a target: execution scopes contain each other, storage may be accessed from where it is."""

from xdsl.ir import Operation, OpResult, SSAValue

from tilewright.core.codes.effects import RESOURCE_REFUSED, SCOPE_REFUSED
from tilewright.ir.ops.memory import MemoryAllocOp, MemoryLoadOp, MemoryStoreOp
from tilewright.ir.ops.regions import ParallelOp
from tilewright.ir.target import Access, TargetModel
from tilewright.ir.verify.rule import Findings, Rule

UNKNOWN_SCOPE = Rule("V-SCOPE-1", SCOPE_REFUSED, "the target has no execution scope {scope!r}")
SCOPE_ORDER = Rule("V-SCOPE-2", SCOPE_REFUSED, "the scope {outer!r} does not contain the scope {scope!r}")
UNKNOWN_RESOURCE = Rule("V-RES-1", RESOURCE_REFUSED, "the target has no storage class {resource!r}")
CANNOT_LOAD = Rule("V-RES-2", RESOURCE_REFUSED, "the scope {scope!r} cannot load from storage of class {resource!r}")
CANNOT_STORE = Rule("V-RES-3", RESOURCE_REFUSED, "the scope {scope!r} cannot store to storage of class {resource!r}")

RULES = (UNKNOWN_SCOPE, SCOPE_ORDER, UNKNOWN_RESOURCE, CANNOT_LOAD, CANNOT_STORE)


def entered_scope(op: Operation, active: str | None, target: TargetModel, found: Findings) -> str | None:
    """The scope that holds inside `op`, after checking the scope it asks for against the active one."""
    if not isinstance(op, ParallelOp) or op.scope is None:
        return active
    scope = op.scope.data
    if scope not in target.scopes:
        found.add(UNKNOWN_SCOPE, op, scope=scope)
    elif active in target.scopes and not target.is_within(scope, active):
        found.add(SCOPE_ORDER, op, outer=active, scope=scope)
    return scope


def check_storage(op: Operation, active: str | None, target: TargetModel, found: Findings) -> None:
    """The storage class of an allocation exists; an access is permitted from the active scope.

    Without an active scope the planner chooses one, and the choice is checked when it is written down.
    """
    match op:
        case MemoryAllocOp():
            if op.resource is not None and op.resource.data not in target.resources:
                found.add(UNKNOWN_RESOURCE, op, resource=op.resource.data)
        case MemoryLoadOp():
            _check_access(op, op.memory, Access.LOAD, active, target, found)
        case MemoryStoreOp():
            _check_access(op, op.memory, Access.STORE, active, target, found)
        case _:
            return


def _check_access(
    op: Operation, memory: SSAValue, access: Access, active: str | None, target: TargetModel, found: Findings
) -> None:
    owner = memory.owner if isinstance(memory, OpResult) else None
    if active is None or not isinstance(owner, MemoryAllocOp) or owner.resource is None:
        return
    resource = owner.resource.data
    if resource in target.resources and active in target.scopes and not target.permits(active, resource, access):
        found.add(CANNOT_LOAD if access is Access.LOAD else CANNOT_STORE, op, scope=active, resource=resource)
