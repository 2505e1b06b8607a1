"""Opening and closing regions: which variables are carried, and what they are afterwards.

On entry every staged variable that the body assigns becomes an argument of the body. On exit those that changed are
carried: the yield is made from the final values first, then the arguments of unchanged variables are replaced by the
incoming values. So `a, b = b, a` yields the two arguments, and `b = old_a` yields the argument of `a`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, BlockArgument, SSAValue
from xdsl.ir import Region as Body

from tilewright.core.codes.capture import HOST_REBOUND, REGION_LEFT
from tilewright.core.codes.effects import PARALLEL_ESCAPE
from tilewright.core.codes.types import CARRIED_TYPE
from tilewright.core.diagnostics import Label
from tilewright.core.errors import CaptureError, EffectError, TileTypeError
from tilewright.core.source import Span
from tilewright.ir.location import location_of, span_of
from tilewright.ir.ops.regions import ParallelOp, PipelineOp, ReduceOp, SerialOp, YieldOp
from tilewright.ir.types import I64
from tilewright.lang.base import StagedBase, use
from tilewright.lang.containers import Containers
from tilewright.lang.context import Arm, Capture, Frame
from tilewright.lang.memory import Memory
from tilewright.lang.nests import Nest, Region
from tilewright.lang.poison import Escaped, Poison
from tilewright.lang.pytrees import holds_staged, leaves, rebuilt, same_host, structure
from tilewright.lang.values import wrap

__all__ = ["OpenRegion", "place_of", "same_values", "shown"]


@dataclass(slots=True)
class _Slot:
    """One leaf of a variable, or the state of a memory: what came in, and the argument that stands for it inside."""

    incoming: SSAValue
    argument: BlockArgument
    final: SSAValue | None = None
    result: SSAValue | None = None

    @property
    def changed(self) -> bool:
        return self.final is not self.argument


@dataclass(slots=True)
class OpenRegion:
    """One region between the header and the end of its body."""

    region: Region
    frame: Frame
    nest: Nest
    names: tuple[str, ...]
    renewed: tuple[str, ...]
    before: Mapping[str, object]
    containers: Containers
    arm: Arm | None
    slots: dict[str, list[_Slot]] = field(default_factory=dict[str, list[_Slot]])
    states: list[tuple[Memory, _Slot]] = field(default_factory=list[tuple[Memory, _Slot]])
    entering: dict[str, object] = field(default_factory=dict[str, object])
    leaving: dict[str, object] = field(default_factory=dict[str, object])

    def describe(self) -> str:
        """The region as messages name it."""
        return self.frame.describe()

    @staticmethod
    def open(
        region: Region, names: Sequence[str], renewed: Sequence[str], variables: Mapping[str, object]
    ) -> "OpenRegion":
        """Opens the region. `names` are the variables its body assigns, in the order of their first assignment, and
        `renewed` those that it assigns before it reads them.
        """
        capture, domain = region.capture, region.domain
        capture.has_root_parallel |= region.kind == "parallel"
        block = Block(arg_types=[I64] * domain.rank)
        coordinates = dict(zip(domain.space.dims, block.args, strict=True))
        frame = Frame(region.kind, block, region.span, capture.frame, dict(coordinates), scope=region.scope)
        before = {name: variables[name] for name in names if not isinstance(variables.get(name, _UNBOUND), Poison)
                  and name in variables}  # fmt: skip
        containers = Containers.of(variables) if frame.is_temporal else Containers()
        nest = Nest(capture, frame, domain)
        opened = OpenRegion(region, frame, nest, tuple(names), tuple(renewed), before, containers, capture.arm)
        capture.enter(frame)
        if frame.is_temporal:
            opened._make_arguments(capture)
        return opened

    def _make_arguments(self, capture: Capture) -> None:
        for name, value in self.before.items():
            if holds_staged(value):
                self.slots[name] = []
                self.entering[name] = rebuilt(value, lambda leaf, name=name: self._argument_for(leaf, name))
        for memory in capture.open_memories():
            slot = _Slot(memory.state, self._add_argument(memory.state))
            self.states.append((memory, slot))
            memory.state = slot.argument

    def _argument_for(self, leaf: object, name: str) -> object:
        if not isinstance(leaf, StagedBase):
            return leaf
        incoming = use(leaf)
        slot = _Slot(incoming, self._add_argument(incoming))
        self.slots[name].append(slot)
        return wrap(slot.argument)

    def _add_argument(self, incoming: SSAValue) -> BlockArgument:
        argument = self.frame.block.insert_arg(incoming.type, len(self.frame.block.args))
        argument.location = location_of(span_of(incoming))
        return argument

    def close(self, variables: Mapping[str, object]) -> None:
        """Ends the body: checks the variables, makes the yield and the operation, and says what the variables are."""
        capture = self.region.capture
        if capture.frame is not self.frame:
            raise CaptureError(REGION_LEFT.at(capture.frame.span, region=capture.frame.describe()))
        capture.require_arm(self.arm)
        self.containers.check(self.frame)
        for name in self.names:
            if name in self.before:
                self._check(name, self.before[name], variables.get(name, _UNBOUND))
        self._read_states()
        carried = [slot for slot in self._all_slots() if slot.changed]
        capture.insert(YieldOp([slot.final for slot in carried if slot.final is not None]), self.region.span)
        capture.leave(self.frame)
        self._resolve_unchanged()
        self._insert(capture, carried)
        self._bind(variables)

    def _all_slots(self) -> Iterator[_Slot]:
        for slots in self.slots.values():
            yield from slots
        for _, slot in self.states:
            yield slot

    def _check(self, name: str, before: object, after: object) -> None:
        """Refuses what cannot be carried, and records the final value of what can."""
        if not holds_staged(before):
            if name in self.renewed and not holds_staged(after):
                return
            if not same_host(before, after):
                raise CaptureError(HOST_REBOUND.at(self._place(after), name=name, region=self.frame.describe()))
            return
        if isinstance(after, Poison):
            after.refuse()
        if self.frame.is_temporal:
            self._record(name, before, after)
        elif not same_values(before, after):
            raise EffectError(PARALLEL_ESCAPE.at(self._place(after), name=name, region=self.frame.describe()))

    def _record(self, name: str, before: object, after: object) -> None:
        if structure(before) != structure(after):
            raise self._type_change(name, before, after)
        slots = iter(self.slots[name])
        for old, new in zip(leaves(before), leaves(after), strict=True):
            if not isinstance(old, StagedBase):
                if not same_host(old, new):
                    raise CaptureError(HOST_REBOUND.at(self._place(after), name=name, region=self.frame.describe()))
                continue
            slot = next(slots)
            if not isinstance(new, StagedBase) or new.ssa.type != slot.argument.type:
                raise self._type_change(name, old, new)
            slot.final = use(new)

    def _type_change(self, name: str, before: object, after: object) -> TileTypeError:
        place = self._place(after)
        first = self._place(before)
        labels = [Label(first, f"`{name}` is made here")] if first.line else []
        facts = {"name": name, "before": shown(before), "after": shown(after)}
        return TileTypeError(CARRIED_TYPE.at(place, region=self.frame.describe(), labels=labels, **facts))

    def _place(self, value: object) -> Span:
        return place_of(value, self.region.span)

    def _read_states(self) -> None:
        for memory, slot in self.states:
            slot.final = memory.state

    def _resolve_unchanged(self) -> None:
        for slot in self._all_slots():
            if not slot.changed:
                slot.argument.replace_all_uses_with(slot.incoming)
                slot.result = slot.incoming
                self.frame.block.erase_arg(slot.argument)

    def _insert(self, capture: Capture, carried: Sequence[_Slot]) -> None:
        op = _operation(self.region, [slot.incoming for slot in carried], Body(self.frame.block))
        capture.insert(op, self.region.span)
        for slot, result in zip(carried, op.results, strict=True):
            slot.result = result
        for memory, slot in self.states:
            memory.state = slot.result or slot.incoming

    def _bind(self, variables: Mapping[str, object]) -> None:
        """What every assigned variable is after the region."""
        for name in self.names:
            if name in self.slots:
                self.leaving[name] = self._result(name)
            elif self._is_only_inside(name, variables.get(name, _UNBOUND)):
                place = self._place(variables[name])
                span = place if place is not self.region.span else Span("", 0, 0, 0, 0)
                self.leaving[name] = Escaped(name, self.frame.describe(), span)

    def _is_only_inside(self, name: str, value: object) -> bool:
        """Whether what a variable of the host is now means nothing after the region."""
        if name in self.before:
            return name in self.renewed and not same_host(self.before[name], value)
        return _belongs_inside(value)

    def _result(self, name: str) -> object:
        slots = iter(self.slots[name])

        def value(leaf: object) -> object:
            if not isinstance(leaf, StagedBase):
                return leaf
            slot = next(slots)
            return leaf if not slot.changed else wrap(slot.result or slot.incoming)

        return rebuilt(self.before[name], value)


_UNBOUND = object()


def place_of(value: object, otherwise: Span) -> Span:
    """Where a staged value was made; `otherwise` for host values."""
    for leaf in leaves(value):
        if isinstance(leaf, StagedBase) and span_of(leaf.ssa).line:
            return span_of(leaf.ssa)
    return otherwise


def _operation(region: Region, inits: Sequence[SSAValue], body: Body) -> ParallelOp | SerialOp | PipelineOp | ReduceOp:
    space = region.domain.space
    match region.kind:
        case "parallel":
            return ParallelOp(space, scope=region.scope, body=body)
        case "serial":
            return SerialOp(space, inits, body=body)
        case "pipeline":
            return PipelineOp(space, inits, window=region.window, interval=region.interval, body=body)
        case _:
            return ReduceOp(space, inits, policy=region.policy, body=body)


def same_values(before: object, after: object) -> bool:
    """Whether two variables hold the same staged values and equal host values, nested alike."""
    if structure(before) != structure(after):
        return False
    pairs = zip(leaves(before), leaves(after), strict=True)
    return all(
        old.ssa is new.ssa if isinstance(old, StagedBase) and isinstance(new, StagedBase) else same_host(old, new)
        for old, new in pairs
    )


def _belongs_inside(value: object) -> bool:
    """Whether a value made in a region means nothing after it."""
    return any(isinstance(leaf, StagedBase | Memory | Nest) for leaf in leaves(value))


def shown(value: object) -> str:
    """A value of a variable as messages name it."""
    if isinstance(value, StagedBase):
        return value.describe()
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"  # pyright: ignore[reportUnknownArgumentType]
    return f"the host value {value!r}" if isinstance(value, (int, float, str)) else f"a {type(value).__name__}"
