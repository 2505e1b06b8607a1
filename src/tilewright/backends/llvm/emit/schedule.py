"""The schedule stage: how each access of an expanded module meets memory, and where scratch lies. Data that prints.

The emitter obeys it and decides nothing about memory itself.
"""

import enum
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

from xdsl.dialects import math, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tilewright.backends.llvm.emit.lanes import LaneForm, lane_form
from tilewright.backends.llvm.emit.represent import represented
from tilewright.core.codes.unsupported import FUNCTION_TOO_LARGE
from tilewright.core.errors import PlanError
from tilewright.core.source import Span
from tilewright.xir import ops
from tilewright.xir.constants import known_int
from tilewright.xir.location import span_of
from tilewright.xir.types import BufferType, buffer_type, is_vector, lanes_of

__all__ = ["Access", "Mask", "Pattern", "Schedule", "ScratchSlot", "schedule"]

MOST_OPERATIONS = 2_000  # of one function: code generation takes more than twice the time for twice the code
_ALIGNMENT = 64


class Pattern(enum.Enum):
    """How the lanes of an access lie in memory."""

    SCALAR = "scalar"  # one element
    CONSECUTIVE = "consecutive"  # one vector load or store
    UNIFORM = "uniform"  # one element for all lanes: a load and a broadcast
    STRIDED = "strided"  # one base, constant distance
    INDEXED = "indexed"  # one base, constant offsets
    GATHER = "gather"  # an address a lane


class Mask(enum.Enum):
    """Which lanes take part."""

    ALL = "all"
    PREFIX = "prefix"  # the first n
    FIXED = "fixed"  # known now
    VARYING = "varying"


@dataclass(frozen=True, slots=True)
class Access:
    """One load, store, gather, scatter or atomic. `form` is set where lanes share a base."""

    operation: str
    pattern: Pattern
    mask: Mask
    lanes: int
    element: str
    buffer: str
    space: str
    span: Span
    streaming: bool = False
    form: LaneForm | None = None

    def __str__(self) -> str:
        shape = f"{self.element} x {self.lanes}" if self.lanes > 1 else self.element
        mask = "" if self.mask is Mask.ALL else f", mask {self.mask.value}"
        extra = ", streaming" if self.streaming else ""
        return f"{self.operation:7} {self.pattern.value:11} {shape:10} {self.space} {self.buffer}{mask}{extra}"


@dataclass(frozen=True, slots=True)
class ScratchSlot:
    """Where one `xir.alloc` lies in a worker's block, or memory of the launch in all of it."""

    offset: int
    size_bytes: int
    kind: str


@dataclass(frozen=True)
class Schedule:
    """The accesses of a module by operation, in order of the text; scratch; counts of what the code will hold."""

    kernel: str
    accesses: Mapping[Operation, Access]
    scratch: Mapping[SSAValue, ScratchSlot]
    scratch_bytes: int
    counters: Mapping[str, int]
    launch: Mapping[SSAValue, ScratchSlot]
    launch_bytes: int

    @property
    def streams(self) -> bool:
        """Whether any store bypasses the caches."""
        return any(access.streaming for access in self.accesses.values())

    def render(self) -> str:
        """The schedule as text: scratch, equal accesses once with their number, counts."""
        own = f", {self.launch_bytes} of the launch" if self.launch_bytes else ""
        lines = [f"schedule of {self.kernel}: {self.scratch_bytes} bytes of scratch a worker{own}"]
        lines += [f"  scratch {slot.kind} at {slot.offset}" for slot in self.scratch.values()]
        same = Counter(f"line {access.span.line}: {access}" for access in self.accesses.values())
        lines += [f"  {text}" + (f" ({count} times)" if count > 1 else "") for text, count in same.items()]
        lines.append("  " + ", ".join(f"{name}: {count}" for name, count in self.counters.items()))
        return "\n".join(lines)


def schedule(module: ModuleOp) -> Schedule:
    """Classifies every access of an expanded, verified module.

    Raises PlanError (TW440) when one function has more operations than can be compiled in reasonable time.
    """
    kernels = [op for op in module.body.block.ops if isinstance(op, ops.KernelOp)]
    for function in module.body.block.ops:
        _check_size(function)
    walked = list(module.walk())
    accesses = {op: _access(op) for op in walked if type(op) in _ACCESSES}
    allocs = [op for op in walked if isinstance(op, ops.AllocOp)]
    scratch, size = _lay_out([op.buffer for op in allocs])
    laid_out = [_lay_out(_of_launch(kernel)) for kernel in kernels]  # the same for all, which have the same arguments
    launch = {value: slot for slots, _ in laid_out for value, slot in slots.items()}
    counters = Counter(_counted(walked, accesses))
    ordered = {name: counters[name] for name in sorted(counters)}
    return Schedule(
        kernels[-1].sym_name.data, MappingProxyType(accesses), MappingProxyType(scratch), size,
        MappingProxyType(ordered), MappingProxyType(launch), laid_out[-1][1],
    )  # fmt: skip


def _of_launch(kernel: ops.KernelOp) -> list[SSAValue]:
    return [value for value in kernel.body.block.args[:-1] if buffer_type(value).space.data == "launch"]


def _check_size(function: Operation) -> None:
    count = sum(1 for _ in function.walk())
    if count > MOST_OPERATIONS:
        name = cast(ops.KernelOp, function).sym_name.data
        diagnostic = FUNCTION_TOO_LARGE.at(span_of(function), name=name, count=count, limit=MOST_OPERATIONS)
        raise PlanError(diagnostic)


def _lay_out(buffers: Sequence[SSAValue]) -> tuple[dict[SSAValue, ScratchSlot], int]:
    slots: dict[SSAValue, ScratchSlot] = {}
    offset = 0
    for buffer in buffers:
        kind = buffer_type(buffer)
        size = kind.extent * represented(kind.element).size_bytes
        slots[buffer] = ScratchSlot(offset, size, f"{kind.extent} of {kind.element}")
        offset += -(-size // _ALIGNMENT) * _ALIGNMENT
    return slots, offset


def _access(op: Operation) -> Access:
    where = next(operand for operand in op.operands if isinstance(operand.type, BufferType))
    value = cast(SSAValue, getattr(op, _ACCESSES[type(op)]))
    form = _form(op)
    streaming = isinstance(op, ops.StoreOp) and bool(op.streaming)
    kind = buffer_type(where)
    return Access(
        operation=op.name.removeprefix("xir."),
        pattern=_pattern(op, value.type, form),
        mask=_mask(getattr(op, "mask", None)),
        lanes=lanes_of(value.type),
        element=str(kind.element),
        buffer=_name(where),
        space=kind.space.data,
        span=span_of(op),
        streaming=streaming,
        form=form,
    )


def _form(op: Operation) -> LaneForm | None:
    if isinstance(op, ops.GatherOp | ops.ScatterOp) and is_vector(op.indices.type):
        return lane_form(op.indices)
    return None


def _pattern(op: Operation, value: Attribute, form: LaneForm | None) -> Pattern:
    if not is_vector(value):
        return Pattern.SCALAR
    if isinstance(op, ops.LoadOp | ops.StoreOp):
        return Pattern.CONSECUTIVE
    if form is None:
        return Pattern.GATHER
    match form.stride:
        case 1:
            return Pattern.CONSECUTIVE
        case 0:
            return Pattern.UNIFORM
        case None:
            return Pattern.INDEXED
        case _:
            return Pattern.STRIDED


def _mask(mask: SSAValue | None) -> Mask:
    if mask is None or known_int(mask) == -1:
        return Mask.ALL
    owner = mask.owner
    if isinstance(owner, ops.FirstLanesOp):
        return Mask.PREFIX
    return Mask.FIXED if isinstance(owner, Operation) and owner.name == "arith.constant" else Mask.VARYING


def _name(buffer: SSAValue) -> str:
    if isinstance(buffer, BlockArgument):
        return f"argument {buffer.index}"
    return buffer.name_hint or "buffer"


def _counted(walked: list[Operation], accesses: Mapping[Operation, Access]) -> Iterator[str]:
    for op in walked:
        if op in accesses:
            access = accesses[op]
            yield f"{access.operation}.{access.pattern.value}"
            if access.mask is not Mask.ALL:
                yield f"{access.operation}.masked"
        elif isinstance(op, math.FmaOp):
            yield "fma.vector" if is_vector(op.result.type) else "fma.scalar"
        elif isinstance(op, vector.ShuffleOp | ops.FoldLanesOp):
            yield "lanes.moved"
        elif op.name == "scf.for":
            yield "loops"
        elif isinstance(op, ops.FuncOp):
            yield "functions"
        yield "operations"


_ACCESSES: Mapping[type[Operation], str] = MappingProxyType(
    {
        ops.LoadOp: "result",
        ops.StoreOp: "value",
        ops.GatherOp: "result",
        ops.ScatterOp: "value",
        ops.AtomicOp: "value",
    }
)
