"""A plan as text for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from enum import Enum
from typing import TYPE_CHECKING

from tilewright.bridge.xir.options import XirOptions

if TYPE_CHECKING:
    from tilewright.bridge.xir.plan import Candidate, Plan

__all__ = ["render_plan"]

_SHOWN = 8
_TERMS = ("products", "arithmetic", "memory", "transfer", "dispatch", "imbalance")
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
        *_weighed(plan),
    ]
    for reason in dict.fromkeys(item.reason for item in plan.rejected):
        rejected = [item for item in plan.rejected if item.reason == reason]
        lanes = " and ".join(dict.fromkeys(str(item.lanes) for item in rejected))
        lines.append(f"  {len(rejected)} with lanes along {lanes} rejected: {reason}")
    return "\n".join(lines)


def _weighed(plan: Plan) -> Iterator[str]:
    """Lanes and orders by their cheapest number of programs a task, the chosen ones first: how much more they cost and
    for what; and what other numbers cost.
    """
    families: dict[tuple[str, tuple[int, ...]], list[Candidate]] = {}
    for item in sorted(plan.candidates, key=lambda item: item.terms.total):
        families.setdefault((str(item.lanes), item.order), []).append(item)
    for family in list(families.values())[:_SHOWN]:
        best = family[0]
        axes = ", ".join(plan.axes[axis] for axis in best.order)
        yield f"  {best.lanes}, order ({axes}), {best.block} a task: {best.terms}{_above(best, plan.chosen)}"
        costs = {item.block: f"{item.terms.total:.0f}" for item in family[1:]}
        if set(costs.values()) - {f"{best.terms.total:.0f}"}:
            yield f"    others a task: {', '.join(f'{block} {cost}' for block, cost in costs.items())}"
        elif costs:
            yield "    any number a task costs the same: there is work for one"
    if len(families) > _SHOWN:
        yield f"  {len(families) - _SHOWN} more orders, none of them cheaper"


def _above(item: Candidate, chosen: Candidate) -> str:
    """How much dearer a candidate is, and the term that makes most of it."""
    if item is chosen:
        return ": chosen"
    a, b = item.terms, chosen.terms
    terms = {name: (getattr(a, name), getattr(b, name)) for name in _TERMS}
    name, (more, less) = max(terms.items(), key=lambda each: each[1][0] - each[1][1])
    if more <= less:
        return ": as cheap, and later in order"
    return (
        f": {a.total / max(b.total, 1e-9):.3g} times as much, most of it for {name}: {more:.0f} instead of {less:.0f}"
    )


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
    alone, shared = plan.alone.nanoseconds, plan.in_two.nanoseconds
    sleepers = "woken" if plan.wakes else "left alone until many such launches follow each other"
    waking = f"{shared:.0f} + {plan.machine.timings.wake:.0f} for waking on two"
    return f"{alone:.0f} ns on one thread, {waking}; workers that sleep are {sleepers}"


def _aliases(plan: Plan) -> str:
    if plan.may_alias:
        return "may overlap; every load is kept where it is written"
    if not plan.decisions.disjoint:
        return "may overlap; nothing depends on it"
    return "loads are deferred past stores to other arguments; overlapping arguments take a second version without that"
