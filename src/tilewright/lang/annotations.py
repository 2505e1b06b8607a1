"""The annotations of kernel parameters, generic in the element type. A bare one takes any element type, fixed at
capture (the default of the type variable, PEP 696).
"""

import types
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Union, cast, get_args, get_origin

from typing_extensions import TypeVar

from tilewright.core.dtypes import DType
from tilewright.lang.values import Scalar
from tilewright.lang.views import ConstView, Index, View, ViewBase

__all__ = [
    "ConstView1", "ConstView2", "ConstView3", "ConstView4", "ConstView5", "ConstView6", "ConstView7", "ConstView8",
    "Annotation", "ScalarAnnotation", "View1", "View2", "View3", "View4", "View5", "View6", "View7", "View8",
    "ViewAnnotation", "read_annotation",
]  # fmt: skip

D = TypeVar("D", bound=DType, default=DType)
_I2 = tuple[Index, Index]
_I3 = tuple[Index, Index, Index]
_I4 = tuple[Index, Index, Index, Index]
_I5 = tuple[Index, Index, Index, Index, Index]
_I6 = tuple[Index, Index, Index, Index, Index, Index]
_I7 = tuple[Index, Index, Index, Index, Index, Index, Index]
_I8 = tuple[Index, Index, Index, Index, Index, Index, Index, Index]
_S4 = tuple[int, int, int, int]
_S5 = tuple[int, int, int, int, int]
_S6 = tuple[int, int, int, int, int, int]
_S7 = tuple[int, int, int, int, int, int, int]
_S8 = tuple[int, int, int, int, int, int, int, int]


class View1(View[tuple[int], Index | tuple[Index]], Generic[D]):
    """A view of one axis that is read and written."""


class View2(View[tuple[int, int], _I2], Generic[D]):
    """A view of two axes that is read and written."""


class View3(View[tuple[int, int, int], _I3], Generic[D]):
    """A view of three axes that is read and written."""


class View4(View[_S4, _I4], Generic[D]):
    """A view of four axes that is read and written."""


class View5(View[_S5, _I5], Generic[D]):
    """A view of five axes that is read and written."""


class View6(View[_S6, _I6], Generic[D]):
    """A view of six axes that is read and written."""


class View7(View[_S7, _I7], Generic[D]):
    """A view of seven axes that is read and written."""


class View8(View[_S8, _I8], Generic[D]):
    """A view of eight axes that is read and written."""


class ConstView1(ConstView[tuple[int], Index | tuple[Index]], Generic[D]):
    """A view of one axis that is only read."""


class ConstView2(ConstView[tuple[int, int], _I2], Generic[D]):
    """A view of two axes that is only read."""


class ConstView3(ConstView[tuple[int, int, int], _I3], Generic[D]):
    """A view of three axes that is only read."""


class ConstView4(ConstView[_S4, _I4], Generic[D]):
    """A view of four axes that is only read."""


class ConstView5(ConstView[_S5, _I5], Generic[D]):
    """A view of five axes that is only read."""


class ConstView6(ConstView[_S6, _I6], Generic[D]):
    """A view of six axes that is only read."""


class ConstView7(ConstView[_S7, _I7], Generic[D]):
    """A view of seven axes that is only read."""


class ConstView8(ConstView[_S8, _I8], Generic[D]):
    """A view of eight axes that is only read."""


_BY_RANK: tuple[tuple[type, type], ...] = (
    (View1, ConstView1), (View2, ConstView2), (View3, ConstView3), (View4, ConstView4),
    (View5, ConstView5), (View6, ConstView6), (View7, ConstView7), (View8, ConstView8),
)  # fmt: skip
_RANKS: Mapping[type, int] = types.MappingProxyType(
    {kind: rank for rank, kinds in enumerate(_BY_RANK, start=1) for kind in kinds}
)


@dataclass(frozen=True, slots=True)
class ViewAnnotation:
    """What an annotation says. `dtype` None means any; an `optional` argument may be absent."""

    kind: type[ViewBase[Any, Any, Any, Any]]
    rank: int
    dtype: type[DType] | None
    optional: bool

    @property
    def const(self) -> bool:
        return self.kind.is_const

    def __str__(self) -> str:
        element = "" if self.dtype is None else f"[{self.dtype!r}]"
        return f"{self.kind.__name__}{element}{' | None' * self.optional}"


@dataclass(frozen=True, slots=True)
class ScalarAnnotation:
    """The same for a parameter that is a number. It has no axes and is never written."""

    dtype: type[DType] | None
    optional: bool
    rank: ClassVar[int] = 0
    const: ClassVar[bool] = True

    def __str__(self) -> str:
        element = "" if self.dtype is None else f"[{self.dtype!r}]"
        return f"Scalar{element}{' | None' * self.optional}"


Annotation = ViewAnnotation | ScalarAnnotation


def read_annotation(annotation: object) -> Annotation | None:
    """What a parameter annotation says; None when it names neither a view nor a scalar."""
    if get_origin(annotation) in (Union, types.UnionType):
        arms = [arm for arm in get_args(annotation) if arm is not type(None)]
        inner = read_annotation(arms[0]) if len(arms) == 1 else None
        return None if inner is None else replace(inner, optional=True)
    kind = get_origin(annotation) or annotation
    if not (isinstance(kind, type) and (kind in _RANKS or kind is Scalar)):
        return None
    arguments = get_args(annotation)
    dtype = arguments[0] if arguments else None
    if dtype is not None and not (isinstance(dtype, type) and issubclass(dtype, DType)):
        return None
    element = None if dtype is DType else dtype
    if kind is Scalar:
        return ScalarAnnotation(element, optional=False)
    view = cast("type[ViewBase[Any, Any, Any, Any]]", kind)
    return ViewAnnotation(view, _RANKS[view], element, optional=False)
