"""The kernel and the four structured regions, the pipeline stage cut, the early end of an iteration and the yield."""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntAttr, StringAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsolatedFromAbove, IsTerminator, SymbolOpInterface

from tilewright.ir.attrs import Policy, PolicyAttr
from tilewright.ir.ops.base import ANY
from tilewright.ir.types import I64, SpaceAttr, ViewType


@irdl_op_definition
class KernelOp(IRDLOperation):
    """One captured kernel. The body's arguments are its views (and scalar parameters) in signature order.

    It ends in an empty yield. `parameters` names the arguments; `labels` maps dimension numbers to the user's names
    and never takes part in the meaning.
    """

    name = "tile.kernel"
    sym_name = prop_def(StringAttr)
    parameters = prop_def(ArrayAttr[StringAttr])
    labels = prop_def(DictionaryAttr)
    body = region_def("single_block")
    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format: ClassVar[str | None] = "$sym_name $parameters attr-dict-with-keyword $body"

    def __init__(self, name: str, parameters: Sequence[tuple[str, Attribute]], labels: dict[int, str] | None = None):
        table: dict[str, Attribute] = {str(dim): StringAttr(label) for dim, label in (labels or {}).items()}
        super().__init__(
            operands=[],
            result_types=[],
            regions=[Region(Block(arg_types=[kind for _, kind in parameters]))],
            properties={
                "sym_name": StringAttr(name),
                "parameters": ArrayAttr([StringAttr(label) for label, _ in parameters]),
                "labels": DictionaryAttr(table),
            },
        )

    @property
    def views(self) -> tuple[SSAValue, ...]:
        return tuple(arg for arg in self.body.block.args if isinstance(arg.type, ViewType))


_LOOP: str | None = "$space `(` $inits `:` type($inits) `)` attr-dict-with-keyword `->` `(` type($results_) `)` $body"


class RegionOp(IRDLOperation):
    """Base of the structured regions: a domain and a body.

    The body has one i64 index per axis, followed by the carried values.
    """

    space = prop_def(SpaceAttr)
    body = region_def("single_block")

    @property
    def indices(self) -> tuple[SSAValue, ...]:
        return tuple(self.body.block.args[: self.space.rank])


class CarryingOp(RegionOp):
    """A region that carries values.

    All yielded values are read before any is replaced; zero trips return the initial ones.
    """

    inits = var_operand_def(ANY)
    results_ = var_result_def(ANY)

    @property
    def carries(self) -> tuple[SSAValue, ...]:
        return tuple(self.body.block.args[self.space.rank :])

    @property
    def when(self) -> "WhenOp | None":
        """What ends an iteration of this region early, if anything does."""
        return next((op for op in self.body.block.ops if isinstance(op, WhenOp)), None)


def _carrying_body(space: SpaceAttr, inits: Sequence[SSAValue]) -> Region:
    return Region(Block(arg_types=[I64] * space.rank + [value.type for value in inits]))


@irdl_op_definition
class ParallelOp(RegionOp):
    """Independent instances, in any order.

    `scope` binds execution to a level of the target ("worker", "group", ...).
    """

    name = "tile.parallel"
    scope = opt_prop_def(StringAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format: ClassVar[str | None] = "$space (`scope` $scope^)? attr-dict-with-keyword $body"

    def __init__(self, space: SpaceAttr, *, scope: str | None = None, body: Region | None = None):
        properties: dict[str, Attribute | None] = {
            "space": space,
            "scope": None if scope is None else StringAttr(scope),
        }
        super().__init__(
            operands=[], result_types=[], regions=[body or _carrying_body(space, ())], properties=properties
        )


@irdl_op_definition
class SerialOp(CarryingOp):
    """Ordered iterations, lexicographic in axis order."""

    name = "tile.serial"
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = _LOOP

    def __init__(self, space: SpaceAttr, inits: Sequence[SSAValue] = (), body: Region | None = None):
        super().__init__(
            operands=[inits],
            result_types=[[value.type for value in inits]],
            regions=[body or _carrying_body(space, inits)],
            properties={"space": space},
        )


@irdl_op_definition
class PipelineOp(CarryingOp):
    """Ordered iterations with permission to overlap stages.

    `window` bounds iterations in flight (0: the planner chooses); `interval` >= 1 is the issue distance.
    """

    name = "tile.pipeline"
    window = prop_def(IntAttr)
    interval = prop_def(IntAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = _LOOP

    def __init__(
        self,
        space: SpaceAttr,
        inits: Sequence[SSAValue] = (),
        *,
        window: int = 0,
        interval: int = 1,
        body: Region | None = None,
    ):
        super().__init__(
            operands=[inits],
            result_types=[[value.type for value in inits]],
            regions=[body or _carrying_body(space, inits)],
            properties={"space": space, "window": IntAttr(window), "interval": IntAttr(interval)},
        )


@irdl_op_definition
class ReduceOp(CarryingOp):
    """A fold over the domain.

    The carried values are the accumulators, the policy says which regroupings are permitted.
    """

    name = "tile.reduce"
    policy = prop_def(PolicyAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = _LOOP

    def __init__(
        self,
        space: SpaceAttr,
        inits: Sequence[SSAValue] = (),
        *,
        policy: Policy = Policy.UNORDERED_TREE,
        body: Region | None = None,
    ):
        super().__init__(
            operands=[inits],
            result_types=[[value.type for value in inits]],
            regions=[body or _carrying_body(space, inits)],
            properties={"space": space, "policy": PolicyAttr(policy)},
        )


@irdl_op_definition
class StageOp(IRDLOperation):
    """Opens the next stage of the enclosing pipeline body. The label is unique in its pipeline."""

    name = "tile.stage"
    label = prop_def(StringAttr)
    assembly_format: ClassVar[str | None] = "$label attr-dict"

    def __init__(self, label: str):
        super().__init__(operands=[], result_types=[], properties={"label": StringAttr(label)})


@irdl_op_definition
class WhenOp(IRDLOperation):
    """Ends the iteration here where the condition is false: the carried values stay as they are and nothing that
    follows happens.

    Stands at most once, directly in the body of a region that carries, after pure scalar operations and stages only.
    """

    name = "tile.when"
    condition = operand_def(ANY)
    assembly_format: ClassVar[str | None] = "$condition attr-dict `:` type($condition)"

    def __init__(self, condition: SSAValue):
        super().__init__(operands=[condition], result_types=[])


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends a body: the next carried values, the scalar of a map, the states of a scan, or nothing."""

    name = "tile.yield"
    values = var_operand_def(ANY)
    traits = traits_def(IsTerminator())
    assembly_format: ClassVar[str | None] = "($values^ `:` type($values))? attr-dict"

    def __init__(self, values: Sequence[SSAValue] = ()):
        super().__init__(operands=[values], result_types=[])
