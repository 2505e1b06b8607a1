"""Writes the reference of the library from its docstrings.

python -m tilewright.tools.library_page docs/reference/library.md
"""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from tilewright.lang import folds, reducers, tiles
from tilewright.lang.library import (
    activations,
    indexing,
    normalization,
    products,
    rearranging,
    scans,
    sorting,
    statistics,
    windows,
)  # fmt: skip

__all__ = ["THEMES", "page"]

THEMES: dict[str, tuple[ModuleType, ...]] = {
    "Folds and statistics": (statistics,),
    "Normalization": (normalization,),
    "Activations": (activations,),
    "Running folds": (scans,),
    "Products": (products,),
    "Sorting": (sorting,),
    "Elements at computed places": (indexing,),
    "Rearranging": (rearranging,),
    "Windows": (windows,),
    "What all of it is made of": (folds, tiles),
}
_INTERNAL = ("Reducer", "all_of", "any_of")
_INTRODUCTION = """\
# Library

Functions on tiles in `tilewright.tile`. None of them is special to the compiler: each runs at capture and leaves core
operations behind (see [TileIR](tileir.md)), so what it costs and how it rounds can be read in the captured kernel.

- **Axes have an identity.** A function is told an axis, not a number, and results keep the axes they do not consume.
- **Half types** (`f16`, `bf16`) are computed in `f32` and rounded once, at the end.
- **Over nothing**, sums and products give their identity; `max`, `min` and `arg*` are refused (TW215).
- **NaN** wins in `max`, `min`, `argmax` and `argmin`, the first one where a place is asked for, and sorts last.
- **Places** are `i64`. A place outside a tile or view reads the fill and writes nothing.

```python
import numpy as np
from tilewright import tile
from tilewright.tile import ConstView2, View2, axis, coord, f32, i64, parallel, shape


@tile.kernel
def best(X: ConstView2[f32], V: View2[f32], P: View2[i64]):
    (M, N), K = X.shape, V.shape[1]
    m, one, n, k = axis("m", M), axis("one", 1), axis("n", N), axis("k", K)
    for nest in parallel(shape(m)):
        x = tile.softmax(X[coord(nest.index(), 0), shape(one, n)], n)
        values, places = tile.topk(x, n, k)
        V.at(coord(nest.index(), 0), shape(one, k)).store(values)
        P.at(coord(nest.index(), 0), shape(one, k)).store(places)


x = np.random.rand(4, 30).astype("f4")
values, places = np.empty((4, 3), "f4"), np.empty((4, 3), "i8")
best(x, values, places)
assert (places[:, 0] == x.argmax(1)).all()
```

A fold takes one of the reducers {reducers}, or one of your own.
"""


def page() -> str:
    """The text of the page."""
    names = ", ".join(f"`{name}`" for name in reducers.__all__ if name not in _INTERNAL)
    parts = [_INTRODUCTION.replace("{reducers}", names)]
    for title, modules in THEMES.items():
        parts.append(f"## {title}\n")
        parts += [_entry(name, function) for module in modules for name, function in _public(module)]
    return "\n".join(parts)


def _public(module: ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in module.__all__:
        found = getattr(module, name)
        if inspect.isfunction(found):
            yield name, found


def _entry(name: str, function: Callable[..., Any]) -> str:
    parameters = inspect.signature(function).parameters.values()
    shown = [each.replace(annotation=inspect.Parameter.empty) for each in parameters]
    return f"### {name}\n\n```text\n{name}{_call(shown)}\n```\n\n{inspect.getdoc(function)}\n"


def _call(parameters: list[inspect.Parameter]) -> str:
    return str(inspect.Signature(parameters)).replace("<Policy.UNORDERED_TREE: 'unordered_tree'>", "unordered_tree")


def write(out: Annotated[Path, typer.Argument(dir_okay=False)]) -> None:
    """Write the page."""
    out.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    typer.run(write)
