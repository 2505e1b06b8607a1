"""A captured kernel: its module and what is asked of it."""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import SSAValue

from tilewright.core.codes.internal import MALFORMED_IR
from tilewright.core.computed import computed
from tilewright.core.diagnostics import Diagnostic
from tilewright.core.dtypes import DType
from tilewright.core.errors import InternalError
from tilewright.core.source import UNKNOWN
from tilewright.ir.hash import structural_hash
from tilewright.ir.listing import list_kernel
from tilewright.ir.ops.regions import KernelOp
from tilewright.ir.text import print_module
from tilewright.ir.types import DimAttr, ViewType, dtype_of
from tilewright.ir.verify import raise_found, verify

__all__ = ["Kernel", "Parameter"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One kernel argument. `strides` count elements; a scalar has no axes and is const."""

    name: str
    element: type[DType]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    const: bool


@dataclass(frozen=True)
class Kernel:
    """One captured kernel. The module is not changed after capture: passes work on a clone."""

    module: ModuleOp
    name: str
    rewritten_source: str = ""

    def rewritten(self, module: ModuleOp, digest: str) -> "Kernel":
        """The same kernel after passes: its module, whose structural hash is known."""
        made = Kernel(module, self.name, self.rewritten_source)
        made.__dict__["hash"] = digest
        return made

    @computed
    def op(self) -> KernelOp:
        """The one `tile.kernel` of the module. Raises InternalError (TW921) when there is none or several."""
        found = [op for op in self.module.body.block.ops if isinstance(op, KernelOp)]
        if len(found) != 1:
            raise InternalError(MALFORMED_IR.at(UNKNOWN, what=f"{self.name} holds {len(found)} kernels, not one"))
        return found[0]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The arguments in the order of the signature."""
        names = self.op.parameters.data
        return tuple(_parameter(name.data, arg) for name, arg in zip(names, self.op.body.block.args, strict=True))

    @computed
    def hash(self) -> str:
        """The structural hash of the module (see `ir.hash`)."""
        return structural_hash(self.module)

    @computed
    def _found(self) -> tuple[Diagnostic, ...]:
        return verify(self.module)

    def require_sound(self) -> None:
        """Raises what the verifier finds in the module, as `verify_or_raise` does. The module is looked at once."""
        raise_found(self._found)

    def text(self, *, short: bool = False) -> str:
        """The module as text that parses back; `short` is a listing for people, one line an operation."""
        return list_kernel(self.op) if short else print_module(self.module)

    def label(self, dim: DimAttr) -> str:
        """The user's name of a dimension; `d7` for the seventh when it has none."""
        label = self.op.labels.data.get(str(dim.number))
        return label.data if isinstance(label, StringAttr) else f"d{dim.number}"


def _parameter(name: str, value: SSAValue) -> Parameter:
    kind = value.type
    if isinstance(kind, ViewType):
        return Parameter(name, dtype_of(kind.element), kind.space.extents, kind.strides, kind.is_const)
    return Parameter(name, dtype_of(kind), (), (), const=True)
