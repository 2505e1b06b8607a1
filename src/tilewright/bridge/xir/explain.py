"""A plan as text for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from enum import Enum
from typing import TYPE_CHECKING

from tilewright.bridge.xir.options import XirOptions

if TYPE_CHECKING:
    from tilewright.bridge.xir.plan import Plan

__all__ = ["render_plan"]

_SHOWN = 8
_OPEN = XirOptions()


def render_plan(plan: Plan) -> str:
    """Mapping, decisions below the root, costs of the cheapest candidates, rejections."""
    best = plan.chosen
    order = ", ".join(plan.axes[axis] for axis in best.order) or "one program"
    lines = [
        f"kernel {plan.kernel} on {plan.machine.name}, {plan.threads} threads",
        f"mapping: {plan.programs} programs over ({order}), {best.block} a task, {plan.tasks} tasks",
        f"launch: {_launch(plan)}",
        f"lanes: {best.lanes}",
        f"cost ({best.terms.basis.value}): {best.terms}",
        f"figures: {plan.machine.timings}",
        f"scratch: {plan.decisions.scratch_bytes} bytes in {len(plan.decisions.storages)} buffers",
        f"arguments: {_aliases(plan)}",
        *_set_by_the_caller(plan.options),
        *plan.notes,
        f"{len(plan.candidates)} candidates, {len(plan.rejected)} rejected",
    ]
    ranked = sorted(plan.candidates, key=lambda item: item.terms.total)
    for item in ranked[:_SHOWN]:
        axes = ", ".join(plan.axes[axis] for axis in item.order)
        lines.append(f"  {item.lanes}, order ({axes}), {item.block} a task: {item.terms}")
    for reason in dict.fromkeys(item.reason for item in plan.rejected):
        count = sum(item.reason == reason for item in plan.rejected)
        lines.append(f"  {count} rejected: {reason}")
    return "\n".join(lines)


def _set_by_the_caller(options: XirOptions) -> Iterator[str]:
    """Every option that has not its default."""
    given = [(each.name, getattr(options, each.name)) for each in fields(XirOptions)]
    named = [f"{name} = {_shown(value)}" for name, value in given if value != getattr(_OPEN, name)]
    if named:
        yield f"set by the caller: {', '.join(named)}"


def _shown(value: object) -> str:
    return value.name if isinstance(value, Enum) else str(value)


def _launch(plan: Plan) -> str:
    if plan.tasks < 2 or plan.threads < 2:
        return "on the calling thread"
    sleepers = "woken" if plan.wakes else "left alone"
    return f"about {plan.microseconds:.0f} microseconds of work on one thread; workers that sleep are {sleepers}"


def _aliases(plan: Plan) -> str:
    if plan.may_alias:
        return "may overlap; every load is kept where it is written"
    if not plan.decisions.disjoint:
        return "may overlap; nothing depends on it"
    return "loads are deferred past stores to other arguments; overlapping arguments take a second version without that"
