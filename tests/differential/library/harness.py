"""A library call as a kernel of its own: its operands are loaded whole, its results stored whole."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright import tile
from tilewright.interp.run import run as interpret
from tilewright.ir.kernel import Kernel
from tilewright.numerics.arrays import from_numpy
from tilewright.tile import Tile, axis, coord, parallel, shape, tensor_shape

Array = npt.NDArray[Any]
Work = Callable[[Any], Any] | Callable[[Any, Any], Any] | Callable[[Any, Any, Any], Any]
_CONST: Sequence[Any] = (None, tile.ConstView1, tile.ConstView2, tile.ConstView3, tile.ConstView4)
_VIEW: Sequence[Any] = (None, tile.View1, tile.View2, tile.View3, tile.View4)
_POISON = {"f": np.nan, "i": -99, "u": 99, "b": True, "V": np.nan}


@dataclass(frozen=True, slots=True)
class Case:
    """`work` takes a tile of each input and gives the tiles that are stored; `expected` are exact answers.

    `ulps` is how many units in the last place of the largest expected magnitude (or of `scale`) an answer may be off.
    """

    work: Work
    inputs: tuple[Array, ...]
    expected: tuple[Array, ...]
    ulps: float = 0
    scale: float = 0.0
    outputs: tuple[Any, ...] = field(default=())

    @property
    def results(self) -> list[Array]:
        """Poisoned arrays for the results."""
        dtypes = self.outputs or tuple(each.dtype for each in self.expected)
        return [np.full(e.shape, _POISON[np.dtype(d).kind], d) for e, d in zip(self.expected, dtypes, strict=True)]


def case(
    work: Work, inputs: Sequence[Array], *expected: Any, dtype: Any = None, ulps: float = 0, scale: float = 0.0
) -> Case:
    """A case; results have the type of their exact answer, or `dtype`."""
    answers = tuple(np.asarray(each) for each in expected)
    return Case(work, tuple(inputs), answers, ulps, scale, () if dtype is None else (dtype,) * len(answers))


def kernel_of(each: Case) -> Kernel:
    """The captured kernel: one program."""
    inputs, outputs = each.inputs, each.results
    reads, writes = [_CONST[a.ndim] for a in inputs], [_VIEW[a.ndim] for a in outputs]
    work: Callable[..., Any] = each.work
    made = _definition(work, reads, writes)
    return made.capture(*(tensor_shape(*a.shape, dtype=from_numpy(a.dtype)) for a in (*inputs, *outputs)))


def _whole(view: Any) -> Tile:
    axes = [axis(f"{view.name}{place}", extent) for place, extent in enumerate(view.shape)]
    return view[coord(*(0 for _ in axes)), shape(*axes)]


def _keep(view: Any, value: Any) -> None:
    axes = [axis(f"{view.name}{place}", extent) for place, extent in enumerate(view.shape)]
    view.at(coord(*(0 for _ in axes)), shape(*axes)).store(value)


def _stored(views: Sequence[Any], values: Any) -> None:
    for view, value in zip(views, _several(values), strict=True):
        _keep(view, value)


def _several(values: Any) -> tuple[Any, ...]:
    return values if isinstance(values, tuple) else (values,)  # pyright: ignore[reportUnknownVariableType]


def _definition(work: Callable[..., Any], reads: Sequence[Any], writes: Sequence[Any]) -> Any:
    """A kernel of these annotations, which depend on the case."""

    def one(a: Any, y: Any) -> None:
        for _ in parallel(shape(axis("g", 1))):
            _stored((y,), work(_whole(a)))

    def two(a: Any, b: Any, y: Any) -> None:
        for _ in parallel(shape(axis("g", 1))):
            _stored((y,), work(_whole(a), _whole(b)))

    def three(a: Any, b: Any, c: Any, y: Any) -> None:
        for _ in parallel(shape(axis("g", 1))):
            _stored((y,), work(_whole(a), _whole(b), _whole(c)))

    def pair(a: Any, y: Any, z: Any) -> None:
        for _ in parallel(shape(axis("g", 1))):
            _stored((y, z), work(_whole(a)))

    chosen: Any = pair if len(writes) == 2 else (one, two, three)[len(reads) - 1]
    chosen.__annotations__ = {**dict(zip("abc", reads, strict=False)), **dict(zip("yz", writes, strict=False))}
    return tile.kernel(chosen)


def interpreted(each: Case) -> list[Array]:
    results = each.results
    interpret(kernel_of(each), [*(a.copy() for a in each.inputs), *results])
    return results


def assert_right(each: Case, results: Sequence[Array]) -> None:
    """Every result is the exact answer, within the bound of the case."""
    for got, want in zip(results, each.expected, strict=True):
        if not each.ulps:
            np.testing.assert_array_equal(got.astype(want.dtype), want)
            continue
        info = np.finfo(got.dtype) if got.dtype.kind == "f" else None
        eps = float(info.eps) if info is not None else 2.0**-7
        exact = want.astype(np.float64)
        finite = exact[np.isfinite(exact)]
        size = each.scale or (np.abs(finite).max() if finite.size else 1.0)
        np.testing.assert_allclose(got.astype(np.float64), exact, rtol=0, atol=each.ulps * eps * size)
