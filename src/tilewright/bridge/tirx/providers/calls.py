"""How a function of a whole array is called: by its name in TVM's registry, or as a C function of Apple's Accelerate.

Every form takes an input, an output and a count of float32 elements. A C function's symbol must be in the process.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.nodes import Expr, Nodes, Stmt
from tilewright.bridge.tirx.providers.choices import Convention

__all__ = ["call_of"]

Form = Callable[[Nodes, str, Expr, Expr, int], Stmt]


def call_of(door: Door, convention: Convention, name: str, source: Expr, target: Expr, count: int) -> Stmt:
    """A call of `name` on the elements that begin at `source` and `target`."""
    first, result = (door.tirx.address_of(each) for each in (source, target))
    return _FORMS[convention](Nodes(door), name, first, result, count)


def _registered(n: Nodes, name: str, source: Expr, target: Expr, count: int) -> Stmt:
    t = n.door.tirx
    return t.Evaluate(t.call_packed(name, source, target, n.i64(count)))


def _vforce(n: Nodes, name: str, source: Expr, target: Expr, count: int) -> Stmt:
    """Void f(float* out, const float* in, const int* count)"""
    t = n.door.tirx
    cell = n.buffer("count", "int32", [1], alignment=4)
    here = n.load(cell, [n.i64(0)])
    call = t.Evaluate(t.call_extern("void", name, target, source, t.address_of(here)))
    return n.sequence([n.allocate(cell, {}), n.store(cell, n.int_("int32", count), [n.i64(0)]), call])


def _vdsp(n: Nodes, name: str, source: Expr, target: Expr, count: int) -> Stmt:
    """Void f(const float* in, long stride, float* out, unsigned long count)"""
    t = n.door.tirx
    return t.Evaluate(t.call_extern("void", name, source, n.i64(1), target, n.i64(count)))


_FORMS: Mapping[Convention, Form] = MappingProxyType(
    {Convention.REGISTERED: _registered, Convention.VFORCE: _vforce, Convention.VDSP: _vdsp}
)
