"""mma and matmul: the roles of axes, checked where they are written."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tilewright.core.codes.types import ACCUMULATOR, K_MISMATCH, MMA_ROLES
from tilewright.core.dtypes import DType, boolean, f32
from tilewright.core.errors import TileTypeError
from tilewright.core.source import user_span
from tilewright.ir.ops.tiles import MmaOp
from tilewright.ir.types import AxisAttr, SpaceAttr, is_tile, space_of
from tilewright.lang.base import StagedBase, described, use
from tilewright.lang.broadcast import shown_space
from tilewright.lang.context import current, emit
from tilewright.lang.maps import relabel
from tilewright.lang.operations import cast_to, constant, typed

__all__ = ["matmul", "mma"]


def mma(a: object, b: object, c: object, *, reassociate: bool = True, atoms: bool = False) -> SSAValue:
    """`c` plus the products of `a` and `b` summed over the axes that only they share.

    Raises TileTypeError: TW203 for a contracted axis of two extents, TW207 for what is no tile, TW212 when the roles
    cannot be told, TW213 for an accumulator that is too narrow.
    """
    left, right, acc = (typed(item, "mma") for item in (a, b, c))
    _check_accumulator((left, right), acc)
    operands = _matched(use(left), use(right), use(acc))
    return emit(MmaOp(*operands, reassociate=reassociate, atoms=atoms)).result


def _check_accumulator(operands: Sequence[StagedBase], acc: StagedBase) -> None:
    dtype = acc.dtype
    reason = ""
    if dtype.is_float and dtype.bits < 32:
        reason = "a sum in a half type loses a digit at every step; hardware and this compiler accumulate in f32"
    elif dtype == boolean:
        reason = "a truth value does not add up"
    elif dtype.is_integer and any(item.dtype.is_float for item in operands):
        reason = "operands convert to the accumulator's type first, so fractions would be lost"
    if reason:
        shown = " and ".join(repr(item.dtype) for item in operands)
        raise TileTypeError(ACCUMULATOR.at(user_span(), operand=shown, dtype=dtype, reason=reason))


def _matched(a: SSAValue, b: SSAValue, c: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """The operands with axes that form a contraction: as they are, or matched by position when none is named."""
    if not all(map(is_tile, (a, b, c))):
        raise _no_roles("an operand is a scalar", a, b, c)
    problem = _problem(space_of(a), space_of(b), space_of(c))
    if not problem:
        return a, b, c
    spaces = [space_of(item) for item in (a, b, c)]
    is_positional = current("mma").is_positional
    if any(space.rank != 2 or not all(map(is_positional, space.dims)) for space in spaces):
        raise _no_roles(problem, a, b, c)
    (m, k), (k2, n), (m2, n2) = (space.extents for space in spaces)
    if k != k2:
        raise TileTypeError(K_MISMATCH.at(user_span(), axis="K", a=k, b=k2))
    if (m, n) != (m2, n2):
        raise _no_roles(f"by position c needs the extents {m} and {n}", a, b, c)
    rows, columns = spaces[2].axes
    inner = AxisAttr.of(current("mma").fresh_dim("mma.k"), k)
    return relabel(a, SpaceAttr.of([rows, inner])), relabel(b, SpaceAttr.of([inner, columns])), c


def _problem(a: SpaceAttr, b: SpaceAttr, c: SpaceAttr) -> str:
    """Why the axes do not form a contraction by identity; empty when they do."""
    for name, space, others in (("a", a, (b, c)), ("b", b, (a, c)), ("c", c, (a, b))):
        for axis in space.axes:
            extents = [other.extent_of(axis.dim) for other in others]
            if not any(extent is not None for extent in extents):
                where = "b nor c" if name == "a" else "a nor c" if name == "b" else "a nor b"
                return f"the axis {_label(axis)} of {name} is in neither {where}"
            if any(extent not in (None, axis.extent) for extent in extents):
                return f"the axis {_label(axis)} has two extents"
    if not any(dim in b.dims and c.extent_of(dim) is None for dim in a.dims):
        return "a and b share no axis that is not in c"
    return ""


def _label(axis: AxisAttr) -> str:
    return f"`{current('mma').labels[axis.dim.number]}`"


def _no_roles(problem: str, *operands: SSAValue) -> TileTypeError:
    notes = [f"{name} is {described(operand, current('mma'))}" for name, operand in zip("abc", operands, strict=False)]
    return TileTypeError(MMA_ROLES.at(user_span(), problem=problem, notes=notes))


def matmul(a: object, b: object) -> SSAValue:
    """The product of the trailing two axes, [..., m, k] by [..., k, n], accumulated in f32 for half types.

    The last axis of `a` is contracted with the last but one of `b`, by identity or by position.
    Raises TileTypeError as `mma` does.
    """
    left, right = (use(typed(item, "matmul")) for item in (a, b))
    x, y = space_of(left), space_of(right)
    if x.rank < 2 or y.rank < 2:
        problem = f"matmul of {shown_space(x)} and {shown_space(y)}, which need two axes or more"
        raise TileTypeError(MMA_ROLES.at(user_span(), problem=problem))
    if x.extents[-1] != y.extents[-2]:
        raise TileTypeError(K_MISMATCH.at(user_span(), axis="K", a=x.extents[-1], b=y.extents[-2]))
    if x.dims[-1] != y.dims[-2]:
        inner = AxisAttr.of(current("matmul").fresh_dim("matmul.k"), x.extents[-1])
        left = relabel(left, SpaceAttr.of([*x.axes[:-1], inner]))
        right = relabel(right, SpaceAttr.of([*y.axes[:-2], inner, y.axes[-1]]))
    if y.dims[-1] in space_of(left).dims:
        problem = f"the axis {_label(y.axes[-1])} is in a and last in b, so it would not be a new one"
        raise _no_roles(problem, left, right)
    dtype = typed(a, "matmul").dtype
    wide = accumulator(dtype)
    fresh = (axis for axis in space_of(right).axes if axis.dim not in space_of(left).dims)
    space = SpaceAttr.of([*x.axes[:-1], *fresh])
    return _rounded(emit(MmaOp(left, right, constant(wide, 0, space))).result, dtype)


def accumulator(dtype: type[DType]) -> type[DType]:
    """The type in which folds of `dtype` are carried: f32 for narrower floats."""
    return f32 if dtype.is_float and dtype.bits < 32 else dtype


def _rounded(ssa: SSAValue, dtype: type[DType]) -> SSAValue:
    return cast_to(dtype, StagedBase(ssa, current("matmul")))
