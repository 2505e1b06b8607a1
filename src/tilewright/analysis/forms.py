"""Every integer that matters in a kernel, as an affine form over region indices and tile dimensions.

A scalar's form moves with region indices; a tile's also with its own dimensions, and so does a scalar inside a map,
whose indices are coordinates along dimensions. The places where a form decides something (an address, a comparison, a
coordinate) are its *uses*: two programs whose uses have the same values compute the same.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tilewright.ir.ops import convert, elementwise, regions, tiles
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.types import I64, DimAttr, element_of, space_of

__all__ = ["Atom", "Form", "FormUse", "Forms", "forms_of"]

Atom = SSAValue | DimAttr
"""What a form moves with: an index of a region, the coordinate along a dimension, or an origin that has no form."""


@dataclass(frozen=True)
class Form:
    """`constant + sum(coefficient * atom)`. Zero coefficients are never kept."""

    terms: Mapping[Atom, int] = field(default_factory=dict[Atom, int])
    constant: int = 0

    def plus(self, other: "Form", factor: int = 1) -> "Form":
        """This form plus `factor` times another."""
        terms = dict(self.terms)
        for atom, coefficient in other.terms.items():
            terms[atom] = terms.get(atom, 0) + factor * coefficient
        return Form({atom: c for atom, c in terms.items() if c}, self.constant + factor * other.constant)

    def coefficient(self, atom: Atom) -> int:
        return self.terms.get(atom, 0)


@dataclass(frozen=True)
class FormUse:
    """One place where integers decide something: `place` is the view axis of an access, else the position of the
    operand.
    """

    op: Operation
    form: Form
    place: int


@dataclass
class Forms:
    """All forms and uses of one kernel."""

    uses: list[FormUse]
    values: dict[SSAValue, Form | None]
    extents: dict[DimAttr, int]

    def of(self, value: SSAValue) -> Form | None:
        """The form of an i64 scalar or tile; None when it has none."""
        return self.values.get(value)


def forms_of(kernel: regions.KernelOp) -> Forms:
    """Walk a kernel once."""
    found = Forms([], {}, _extents(kernel))
    for op in kernel.walk():
        for region in op.regions:
            for block in region.blocks:
                _enter(found, op, block)
        _visit(found, op)
    return found


def _extents(kernel: regions.KernelOp) -> dict[DimAttr, int]:
    """The extent of every dimension: its largest, since a tile may also have 1 where it is broadcast."""
    found: dict[DimAttr, int] = {}
    for op in kernel.walk():
        for value in op.results:
            for axis in space_of(value).axes:
                found[axis.dim] = max(found.get(axis.dim, 0), axis.extent)
    return found


def _enter(forms: Forms, op: Operation, block: Block) -> None:
    """The indices of a body: those of a map, and of a fold inside one, are coordinates along their dimensions."""
    for argument in block.args:
        if argument.type == I64:
            forms.values[argument] = _of_argument(op, argument)


def _of_argument(op: Operation, argument: BlockArgument) -> Form | None:
    if isinstance(op, tiles.MapOp) or (isinstance(op, regions.RegionOp) and _in_map(op)):
        rank = op.space.rank
        return Form({op.space.dims[argument.index]: 1}) if argument.index < rank else None
    if isinstance(op, regions.RegionOp):
        return Form({argument: 1}) if argument.index < op.space.rank else None
    return None


def _in_map(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, tiles.MapOp):
            return True
        parent = parent.parent_op()
    return False


def _visit(forms: Forms, op: Operation) -> None:
    for result in op.results:
        if element_of(result) == I64:
            forms.values[result] = _computed(forms, op)
    forms.uses.extend(_uses(forms, op))


def _computed(forms: Forms, op: Operation) -> Form | None:
    """The form of an operation's result, when the operation is affine in forms."""
    match op:
        case tiles.ConstantOp():
            bits = op.value.data
            return Form(constant=bits - (1 << 64) if bits >> 63 else bits)
        case elementwise.AddOp() | elementwise.SubOp():
            left, right = forms.of(op.lhs), forms.of(op.rhs)
            if left is None or right is None:
                return None
            return left.plus(right, 1 if isinstance(op, elementwise.AddOp) else -1)
        case elementwise.MulOp():
            return _product(forms.of(op.lhs), forms.of(op.rhs))
        case elementwise.NegOp():
            inner = forms.of(op.operand)
            return None if inner is None else Form().plus(inner, -1)
        case convert.CastOp():
            return forms.of(op.operand) if element_of(op.operand) == I64 else None
        case tiles.MapOp():
            return _yielded(forms, op)
        case _:
            return None


def _product(left: Form | None, right: Form | None) -> Form | None:
    if left is None or right is None:
        return None
    if left.terms and right.terms:
        return None
    scale, moving = (left, right) if not left.terms else (right, left)
    return Form().plus(moving, scale.constant)


def _yielded(forms: Forms, op: tiles.MapOp) -> Form | None:
    """A map's form is that of what it yields. Bodies are visited before, since a walk goes inside out only for
    regions.
    """
    last = op.body.block.last_op
    for inner in op.body.block.walk():
        for result in inner.results:
            if element_of(result) == I64 and result not in forms.values:
                forms.values[result] = _computed(forms, inner)
    return forms.of(last.values[0]) if isinstance(last, regions.YieldOp) else None


_AFFINE = (
    elementwise.AddOp,
    elementwise.SubOp,
    elementwise.MulOp,
    elementwise.NegOp,
    convert.CastOp,
    tiles.MapOp,
    tiles.ConstantOp,
)


def _uses(forms: Forms, op: Operation) -> Iterator[FormUse]:
    match op:
        case LoadOp():
            yield from _access(forms, op, op.origin, op.result)
        case StoreOp():
            yield from _access(forms, op, op.origin, op.value)
            yield from _plain(forms, op, [op.value])
        case _ if isinstance(op, regions.YieldOp) and isinstance(op.parent_op(), tiles.MapOp):
            return
        case _ if isinstance(op, _AFFINE) and all(forms.of(result) is not None for result in op.results):
            return
        case _:
            yield from _plain(forms, op, op.operands)


def _access(forms: Forms, op: Operation, origins: Sequence[SSAValue], tile: SSAValue) -> Iterator[FormUse]:
    """An address on each view axis: origin plus coordinate. An origin without a form is an atom of its own."""
    for place, (origin, axis) in enumerate(zip(origins, space_of(tile).axes, strict=True)):
        start = forms.of(origin)
        broadcast = axis.extent == 1 and forms.extents.get(axis.dim, 1) != 1
        moving = Form() if broadcast else Form({axis.dim: 1})
        yield FormUse(op, (Form({origin: 1}) if start is None else start).plus(moving), place)


def _plain(forms: Forms, op: Operation, values: Iterable[SSAValue]) -> Iterator[FormUse]:
    for place, value in enumerate(values):
        form = forms.of(value)
        if form is not None:
            yield FormUse(op, form, place)
