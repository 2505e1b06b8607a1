"""Registration of XIR: its own operations, and the xDSL dialects it reuses."""

from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.math import Math
from xdsl.dialects.scf import Scf
from xdsl.dialects.vector import Vector
from xdsl.ir import Dialect, Operation

from tilewright.xir import ops
from tilewright.xir.address_ops import LineOffsetOp, PrefetchOp
from tilewright.xir.pack_op import PackOp
from tilewright.xir.syntax import SYNTAX
from tilewright.xir.types import BufferType

XIR_OPS: tuple[type[Operation], ...] = (
    *(
        item
        for item in vars(ops).values()
        if isinstance(item, type) and issubclass(item, Operation) and item.__module__ == ops.__name__
    ),
    LineOffsetOp,
    PackOp,
    PrefetchOp,
)

XirDialect = Dialect("xir", list(XIR_OPS), [BufferType])


def context() -> Context:
    """A parsing context that knows everything a module of XIR may hold."""
    result = Context()
    readers = {op.name: op for op in SYNTAX}
    wide_arith = Dialect("arith", [readers.get(op.name, op) for op in Arith.operations], list(Arith.attributes))
    for dialect in (Builtin, wide_arith, Math, Scf, Vector, XirDialect):
        result.load_dialect(dialect)
    return result
