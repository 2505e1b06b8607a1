"""How far index expressions reach: the smallest storage that holds every image."""

from collections.abc import Sequence

from tilewright.ir.affine import normalize
from tilewright.ir.index_expr import IndexExpr
from tilewright.ir.layout_enumeration import MAX_POINTS, values_at
from tilewright.ir.types import SpaceAttr

__all__ = ["reach"]


def reach(outputs: Sequence[IndexExpr], domain: SpaceAttr) -> tuple[int, ...] | None:
    """One more than the largest value of each expression, and 0 where nothing is reached.

    None when an expression is not affine and `domain` has too many points to look at each.
    """
    if domain.volume == 0:
        return (0,) * len(outputs)
    forms = [normalize(output, domain) for output in outputs]
    if None in forms and domain.volume > MAX_POINTS:
        return None
    return tuple(
        _largest(output, domain) if form is None else max(form.high + 1, 0)
        for output, form in zip(outputs, forms, strict=True)
    )


def _largest(output: IndexExpr, domain: SpaceAttr) -> int:
    (found,) = values_at([output], domain, domain.volume)
    return 1 + int(found.values[found.defined].max(initial=-1))
