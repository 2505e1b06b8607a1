"""The walk of the verifier over a whole module."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilewright.core.diagnostics import Diagnostic
from tilewright.core.errors import EffectError, InternalError, TileTypeError, TilewrightError
from tilewright.ir.listing import Labels
from tilewright.ir.ops.access import LoadElementOp, LoadOp, StoreElementOp, StoreOp, UpdateOp
from tilewright.ir.ops.elementwise import ElementwiseOp
from tilewright.ir.ops.memory import MemoryAllocOp, MemoryLoadOp, MemoryStoreOp
from tilewright.ir.ops.regions import (
    KernelOp,
    ParallelOp,
    PipelineOp,
    ReduceOp,
    SerialOp,
    StageOp,
    WhenOp,
    YieldOp,
)
from tilewright.ir.ops.tiles import ConstantOp, ExtractOp, MapOp, MmaOp, ScanOp
from tilewright.ir.target import TargetModel
from tilewright.ir.verify.access import check_load, check_load_element, check_store, check_store_element, check_update
from tilewright.ir.verify.elementwise import check_elementwise
from tilewright.ir.verify.independence import Dependences
from tilewright.ir.verify.memory import check_alloc, check_memory_load, check_memory_store
from tilewright.ir.verify.memory_flow import check_memory_flow
from tilewright.ir.verify.regions import (
    KERNEL_PLACE,
    KERNEL_TWICE,
    check_kernel,
    check_region,
    check_stage,
    check_stages,
    check_terminator,
    check_when,
    check_yield,
)
from tilewright.ir.verify.rule import Findings, op_text
from tilewright.ir.verify.scopes import check_storage, entered_scope
from tilewright.ir.verify.structure import FOREIGN_OP, Accepted, check_declaration, check_operands, check_purity
from tilewright.ir.verify.tiles import check_constant, check_extract, check_map, check_mma, check_scan
from tilewright.ir.verify.values import check_type

# Which function holds the local rules of which operation.
_LOCAL: Mapping[type[Operation], Callable[[Any, Findings], None]] = MappingProxyType(
    {
        KernelOp: check_kernel,
        ParallelOp: check_region,
        SerialOp: check_region,
        PipelineOp: check_region,
        ReduceOp: check_region,
        StageOp: check_stage,
        WhenOp: check_when,
        YieldOp: check_yield,
        ConstantOp: check_constant,
        MapOp: check_map,
        ExtractOp: check_extract,
        MmaOp: check_mma,
        ScanOp: check_scan,
        LoadOp: check_load,
        StoreOp: check_store,
        LoadElementOp: check_load_element,
        StoreElementOp: check_store_element,
        UpdateOp: check_update,
        MemoryAllocOp: check_alloc,
        MemoryLoadOp: check_memory_load,
        MemoryStoreOp: check_memory_store,
    }
)


def verify(
    module: Operation, target: TargetModel | None = None, *, accepted: Accepted | None = None
) -> tuple[Diagnostic, ...]:
    """Everything that is wrong with a module, in the order of its text; scopes and storage only against a target.

    `accepted` remembers declarations from one call to the next.
    """
    walk = _Walk(module, target, accepted or Accepted())
    walk.run()
    return tuple(walk.found.diagnostics)


def verify_or_raise(module: Operation, target: TargetModel | None = None) -> None:
    """Raises what `verify` finds: InternalError if any of it is structural, else TileTypeError, else EffectError."""
    raise_found(verify(module, target))


def raise_found(found: Sequence[Diagnostic]) -> None:
    """Raises what was found, as `verify_or_raise` says."""
    if not found:
        return
    families = {diagnostic.code.family for diagnostic in found}
    kinds: tuple[tuple[int, type[TilewrightError]], ...] = ((9, InternalError), (2, TileTypeError), (3, EffectError))
    for family, kind in kinds:
        if family in families:
            raise kind(*(diagnostic for diagnostic in found if diagnostic.code.family == family))


class _Walk:
    """The state of one walk: which values are visible, and what surrounds the current operation."""

    def __init__(self, module: Operation, target: TargetModel | None, accepted: Accepted) -> None:
        self._accepted = accepted
        self.found = Findings()
        self._module = module
        self._target = target
        self._visible: set[SSAValue] = set()
        self._sound_types: dict[Attribute, bool] = {}
        self._kernel_names: set[str] = set()
        self._scope: str | None = None
        self._pure_body: Operation | None = None
        self._dependences = Dependences()
        self._has_memory = False

    def run(self) -> None:
        if not isinstance(self._module, ModuleOp):
            self._operation(self._module)
            return
        for region in self._module.regions:
            for block in region.blocks:
                for op in block.ops:
                    self._operation(op)

    def _operation(self, op: Operation) -> None:
        if not op.name.startswith("tile."):
            self.found.add(FOREIGN_OP, op, name=op.name)
            self._visible.update(op.results)
            return
        # A sound operation can be asked for its operands, results and bodies by name; an unsound one is not asked.
        sound = check_operands(op, self._visible, self._module, self.found)
        sound = self._types(op) and sound
        sound = check_declaration(op, self.found, self._accepted) and sound
        if sound:
            self._local(op)
            self._surroundings(op)
        if isinstance(op, KernelOp):
            self._kernel(op, sound=sound)
        elif op.regions:
            self._regions(op, sound=sound)
        if sound:
            self._dependences.visit(op)
        self._visible.update(op.results)

    def _types(self, op: Operation) -> bool:
        """Whether all values that `op` defines have sound types; each type is looked at once."""
        defined = [value.type for value in op.results]
        defined += [arg.type for region in op.regions for block in region.blocks for arg in block.args]
        for kind in defined:
            if kind not in self._sound_types:
                before = len(self.found.diagnostics)
                check_type(kind, op, self.found)
                self._sound_types[kind] = len(self.found.diagnostics) == before
        return all(self._sound_types[kind] for kind in defined) and all(
            self._sound_types.get(operand.type, False) for operand in op.operands
        )

    def _local(self, op: Operation) -> None:
        check = _LOCAL.get(type(op))
        if check is not None:
            check(op, self.found)
        elif isinstance(op, ElementwiseOp):
            check_elementwise(op, self.found)

    def _surroundings(self, op: Operation) -> None:
        if self._pure_body is not None:
            check_purity(op, self._pure_body, self.found)
        if self._target is not None:
            check_storage(op, self._scope, self._target, self.found)
        self._has_memory = self._has_memory or isinstance(op, MemoryAllocOp)

    def _kernel(self, op: KernelOp, *, sound: bool) -> None:
        parent = op.parent_op()
        if parent is not None and parent is not self._module:
            self.found.add(KERNEL_PLACE, op, parent=op_text(parent))
        if sound:
            if op.sym_name.data in self._kernel_names:
                self.found.add(KERNEL_TWICE, op, name=op.sym_name.data)
            self._kernel_names.add(op.sym_name.data)
        self.found.labels = Labels(op)
        outer = self._visible, self._scope, self._pure_body, self._dependences, self._has_memory
        self._visible, self._scope, self._pure_body = set(), None, None
        self._dependences, self._has_memory = Dependences(), False
        before = len(self.found.diagnostics)
        self._regions(op, sound=sound)
        self._dependences.judge(self.found)
        if sound and self._has_memory and len(self.found.diagnostics) == before:
            check_memory_flow(op.body.block, self.found)
        self._visible, self._scope, self._pure_body, self._dependences, self._has_memory = outer

    def _regions(self, op: Operation, *, sound: bool) -> None:
        scope, pure_body = self._scope, self._pure_body
        if sound:
            self._enter(op)
        for region in op.regions:
            for block in region.blocks:
                self._block(op, block, sound=sound)
        if sound:
            self._dependences.leave(op)
        self._scope, self._pure_body = scope, pure_body

    def _enter(self, op: Operation) -> None:
        self._dependences.enter(op)
        if self._target is not None:
            self._scope = entered_scope(op, self._scope, self._target, self.found)
        if isinstance(op, MapOp | ScanOp):
            self._pure_body = op

    def _block(self, owner: Operation, block: Block, *, sound: bool) -> None:
        self._visible.update(block.args)
        for op in block.ops:
            self._operation(op)
        if sound:
            check_terminator(owner, block, self.found)
        if isinstance(owner, PipelineOp):
            check_stages(block, self.found)
        self._visible.difference_update(block.args)
        for op in block.ops:
            self._visible.difference_update(op.results)
