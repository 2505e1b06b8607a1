"""Rules of the kernel, the structured regions, stages, early ends of iterations and yields."""

from collections.abc import Sequence
from itertools import takewhile

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Block, Operation

from tilewright.core.codes.effects import MISPLACED_STAGE, PIPELINE_POLICY
from tilewright.ir.effects import tree_effect
from tilewright.ir.ops.elementwise import ElementwiseOp
from tilewright.ir.ops.regions import (
    CarryingOp,
    KernelOp,
    PipelineOp,
    RegionOp,
    StageOp,
    WhenOp,
    YieldOp,
)
from tilewright.ir.ops.tiles import ConstantOp, MapOp, ScanOp
from tilewright.ir.types import BOOL, MemoryStateType, ViewType, element_of, is_element, is_tile, tile_type
from tilewright.ir.verify.rule import Findings, Rule, malformed, op_text, typed
from tilewright.ir.verify.shapes import is_index, is_numeric_value
from tilewright.ir.verify.values import check_space

_LIMIT = 1 << 32

KERNEL_NAME = malformed("V-KERNEL-1", "a kernel has no name")
KERNEL_TWICE = malformed("V-KERNEL-2", "two kernels of the module are called {name}")
PARAMETER_COUNT = malformed("V-KERNEL-3", "the kernel {name} names {names} parameters but takes {args} arguments")
PARAMETER_TWICE = malformed("V-KERNEL-4", "two parameters of the kernel {name} are called {parameter}")
PARAMETER_KIND = malformed("V-KERNEL-5", "the parameter {parameter} is {kind}, neither a view nor a scalar")
LABEL_TABLE = malformed("V-KERNEL-6", "the label table has the entry {entry}, not a name for a dimension number")
KERNEL_PLACE = malformed("V-KERNEL-7", "a kernel stands inside {parent}")
BODY_ARGS = malformed("V-REG-1", "the body of {op} over {space} takes {given} values, not {expected}")
BODY_INDEX = malformed("V-REG-2", "the body of {op} has an index of type {kind}, not i64")
CARRY_TYPES = typed("V-REG-3", "{op} carries {init} into {arg} and gives {result}")
CARRY_COUNT = malformed("V-REG-4", "{op} starts from {inits} values but has {results} results")
CARRY_KIND = typed("V-REG-5", "{op} carries {kind}; only scalars, tiles and memory states can be carried")
WINDOW = Rule("V-PIPE-1", PIPELINE_POLICY, "the window {value} of a pipeline is not in 0 ... 2**32 - 1")
INTERVAL = Rule("V-PIPE-2", PIPELINE_POLICY, "the interval {value} of a pipeline is not in 1 ... 2**32 - 1")
STAGE_PLACE = Rule(
    "V-STAGE-1", MISPLACED_STAGE, "the stage {label!r} does not stand directly in the body of a pipeline"
)
STAGE_TWICE = Rule("V-STAGE-2", MISPLACED_STAGE, "two stages of one pipeline are called {label!r}")
STAGE_LATE = Rule("V-STAGE-3", MISPLACED_STAGE, "{op} has an effect before the first stage of its pipeline")
STAGE_UNNAMED = Rule("V-STAGE-4", MISPLACED_STAGE, "a stage has no name")
WHEN_PLACE = malformed("V-WHEN-1", "a when does not stand directly in the body of a region that carries")
WHEN_IN_MAP = malformed("V-WHEN-2", "a when stands in the body of a {op}")
WHEN_LATE = malformed("V-WHEN-3", "{op} stands before the when of its region, where only scalars are computed")
WHEN_TWICE = malformed("V-WHEN-4", "the body of {op} has more than one when")
WHEN_TYPE = typed("V-WHEN-5", "the condition of a when is {kind}, not a boolean")
WHEN_STATE = malformed("V-WHEN-6", "{op} carries the state of a memory past a when")
YIELD_MISSING = malformed("V-YIELD-1", "the body of {op} does not end in a yield")
YIELD_COUNT = malformed("V-YIELD-2", "the body of {op} yields {given} values, not {expected}")
YIELD_TYPES = typed("V-YIELD-3", "the body of {op} yields {given}, not {expected}")
YIELD_EARLY = malformed("V-YIELD-4", "a yield stands in the middle of the body of {op}")
YIELD_PLACE = malformed("V-YIELD-5", "a yield stands outside of every body")

RULES = (
    KERNEL_NAME, KERNEL_TWICE, PARAMETER_COUNT, PARAMETER_TWICE, PARAMETER_KIND, LABEL_TABLE, KERNEL_PLACE, BODY_ARGS,
    BODY_INDEX, CARRY_TYPES, CARRY_COUNT, CARRY_KIND, WINDOW, INTERVAL, STAGE_PLACE, STAGE_TWICE, STAGE_LATE,
    STAGE_UNNAMED, WHEN_PLACE, WHEN_IN_MAP, WHEN_LATE, WHEN_TWICE, WHEN_TYPE, WHEN_STATE, YIELD_MISSING, YIELD_COUNT,
    YIELD_TYPES, YIELD_EARLY, YIELD_PLACE,
)  # fmt: skip


def check_kernel(op: KernelOp, found: Findings) -> None:
    """A name, a name for every argument, and arguments that are views or scalars."""
    name, args = op.sym_name.data, op.body.block.args
    names = [parameter.data for parameter in op.parameters.data]
    if not name:
        found.add(KERNEL_NAME, op)
    if len(names) != len(args):
        found.add(PARAMETER_COUNT, op, name=name, names=len(names), args=len(args))
    for repeated in sorted({parameter for parameter in names if names.count(parameter) > 1}):
        found.add(PARAMETER_TWICE, op, name=name, parameter=repeated)
    for parameter, arg in zip(names, args, strict=False):
        if not isinstance(arg.type, ViewType) and not is_element(arg.type):
            found.add(PARAMETER_KIND, op, parameter=parameter, kind=found.type(arg.type))
    for number, label in op.labels.data.items():
        if not number.isdecimal() or not isinstance(label, StringAttr):
            found.add(LABEL_TABLE, op, entry=f"{number}: {label}")


def check_region(op: RegionOp, found: Findings) -> None:
    """The body takes an index per axis and then the carried values."""
    check_space(op.space, op, found)
    args = op.body.block.args
    carried = len(op.inits) if isinstance(op, CarryingOp) else 0
    expected = op.space.rank + carried
    if len(args) != expected:
        space = found.space(op.space)
        found.add(BODY_ARGS, op, op=op_text(op), space=space, given=len(args), expected=expected)
    for arg in args[: op.space.rank]:
        if not is_index(arg):
            found.add(BODY_INDEX, op, op=op_text(op), kind=found.type(arg.type))
    if isinstance(op, CarryingOp):
        _check_carries(op, found)
    if isinstance(op, PipelineOp):
        _check_policy(op, found)


def _check_carries(op: CarryingOp, found: Findings) -> None:
    if len(op.inits) != len(op.results_):
        found.add(CARRY_COUNT, op, op=op_text(op), inits=len(op.inits), results=len(op.results_))
        return
    args = op.body.block.args[op.space.rank :]
    for init, arg, result in zip(op.inits, args, op.results_, strict=False):
        if len({init.type, arg.type, result.type}) > 1:
            start, inside, end = map(found.type, (init.type, arg.type, result.type))
            found.add(CARRY_TYPES, op, op=op_text(op), init=start, arg=inside, result=end)
        if not is_numeric_value(init.type) and not isinstance(init.type, MemoryStateType):
            found.add(CARRY_KIND, op, op=op_text(op), kind=found.type(init.type))


def _check_policy(op: PipelineOp, found: Findings) -> None:
    if not 0 <= op.window.data < _LIMIT:
        found.add(WINDOW, op, value=op.window.data)
    if not 1 <= op.interval.data < _LIMIT:
        found.add(INTERVAL, op, value=op.interval.data)


def check_stages(block: Block, found: Findings) -> None:
    """The rules of the stages of one pipeline body, which see each other."""
    labels: set[str] = set()
    early: list[Operation] = []
    for op in block.ops:
        if not isinstance(op, StageOp):
            if not labels and tree_effect(op):
                early.append(op)
            continue
        label = op.properties.get("label")
        name = label.data if isinstance(label, StringAttr) else ""
        if not name:
            found.add(STAGE_UNNAMED, op)
        elif name in labels:
            found.add(STAGE_TWICE, op, label=name)
        labels.add(name)
    if labels:
        for op in early:
            found.add(STAGE_LATE, op, op=op_text(op))


def check_stage(op: StageOp, found: Findings) -> None:
    """A stage stands directly in a pipeline's body."""
    if not isinstance(op.parent_op(), PipelineOp):
        found.add(STAGE_PLACE, op, label=op.label.data)


def check_when(op: WhenOp, found: Findings) -> None:
    """The condition is a scalar, and the iteration has done nothing yet."""
    if op.condition.type != BOOL:
        found.add(WHEN_TYPE, op, kind=found.type(op.condition.type))
    region = op.parent_op()
    if not isinstance(region, CarryingOp):
        found.add(WHEN_PLACE, op)
        return
    around = _pure_body_around(region)
    if around is not None:
        found.add(WHEN_IN_MAP, op, op=op_text(around))
    if region.when is not op:
        found.add(WHEN_TWICE, op, op=op_text(region))
    if any(isinstance(carry.type, MemoryStateType) for carry in region.carries):
        found.add(WHEN_STATE, op, op=op_text(region))
    for before in takewhile(lambda other: other is not op, region.body.block.ops):
        if not may_precede_when(before):
            found.add(WHEN_LATE, before, op=op_text(before))


def may_precede_when(op: Operation) -> bool:
    """Whether the operation may stand before the `when` of a region: constants and arithmetic of scalars, stages."""
    if isinstance(op, StageOp):
        return True
    return isinstance(op, ConstantOp | ElementwiseOp) and not any(is_tile(v) for v in (*op.operands, *op.results))


def _pure_body_around(op: Operation) -> Operation | None:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, MapOp | ScanOp):
        parent = parent.parent_op()
    return parent


def check_terminator(owner: Operation, block: Block, found: Findings) -> None:
    """A body ends in the only yield it has, and that yields what the owner expects."""
    last = block.last_op
    if not isinstance(last, YieldOp):
        found.add(YIELD_MISSING, owner, op=op_text(owner))
        return
    expected = expected_yield(owner)
    given: list[Attribute] = [value.type for value in last.values]
    if len(given) != len(expected):
        found.add(YIELD_COUNT, last, op=op_text(owner), given=len(given), expected=len(expected))
    elif given != list(expected):
        found.add(YIELD_TYPES, last, op=op_text(owner), given=found.types(given), expected=found.types(list(expected)))


def check_yield(op: YieldOp, found: Findings) -> None:
    """A yield stands at the end of a body."""
    parent = op.parent_op()
    if not isinstance(parent, KernelOp | RegionOp | MapOp | ScanOp):
        found.add(YIELD_PLACE, op)
    elif op.next_op is not None:
        found.add(YIELD_EARLY, op, op=op_text(parent))


def expected_yield(owner: Operation) -> Sequence[Attribute]:
    """The types that the body of `owner` yields."""
    match owner:
        case CarryingOp():
            return [value.type for value in owner.inits]
        case MapOp():
            return [tile_type(owner.result).element]
        case ScanOp():
            return [element_of(tile) for tile in owner.tiles]
        case _:
            return []
