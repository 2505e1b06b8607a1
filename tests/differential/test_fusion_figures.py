"""17 rows of 65: what a fusion of loads, maps, folds and stores must leave as written, each kernel with its answer."""

from typing import Any

import numpy as np
import pytest

from tests.differential.on_device import run_on_device
from tilewright import tile
from tilewright.bridge.xir.options import PROGRAM, XirOptions, element
from tilewright.interp.run import run as interpret
from tilewright.tile import ConstView2, View1, View2, axis, coord, f32, parallel, reindex, shape

ROWS, WIDTH = 17, 65
WAYS = {"elements": XirOptions(lanes=element()), "programs": XirOptions(lanes=PROGRAM, block_size=32)}
F32 = np.float32
Array = Any


def left_by(kernel: Any, arrays: list[Array], way: str) -> list[Array]:
    """What machine code leaves in copies of the arrays, which is what the interpreter leaves, to the bit."""
    here, there = [each.copy() for each in arrays], [each.copy() for each in arrays]
    interpret(kernel, here)
    run_on_device(kernel, [each.ctypes.data for each in there], options=WAYS[way])
    assert [each.tobytes() for each in here] == [each.tobytes() for each in there]
    return there


def data() -> Array:
    return np.random.default_rng(17).standard_normal((ROWS, WIDTH)).astype(F32)


def nothing(columns: int = WIDTH) -> Array:
    return np.full((ROWS, columns), np.nan, F32)


@tile.kernel
def reversed_rows(X: View2[f32], Y: View2[f32], Z: View2[f32], *, variant: str):
    """A reversal read once; read by two stores; read after its source was overwritten."""
    r, c = axis("r", 1), axis("c", WIDTH)
    for nest in parallel(shape(ROWS)):
        here = coord(nest.index(), 0)
        x = X[here, shape(r, c)] + 1.0
        back = reindex(x, shape(r, c), lambda p: coord(p.index(r), WIDTH - 1 - p.index(c)))
        if variant == "written between":
            X.at(here, shape(r, c)).store(17.0)
        Y.at(here, shape(r, c)).store(back)
        if variant == "two stores":
            Z.at(here, shape(r, c)).store(back * 2.0)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("variant", ["one store", "two stores", "written between"])
def test_a_reversal_is_of_what_was_loaded(variant: str, way: str) -> None:
    x = data()
    kernel = reversed_rows.capture(*[tile.tensor_shape(ROWS, WIDTH)] * 3, variant=variant)
    after, y, z = left_by(kernel, [x, nothing(), nothing()], way)
    want = (x + F32(1))[:, ::-1]
    assert np.array_equal(y, want)
    assert np.array_equal(z, want * 2) if variant == "two stores" else np.isnan(z).all()
    assert np.array_equal(after, np.full_like(x, 17) if variant == "written between" else x)


@tile.kernel
def folded(X: View2[f32], Y: View2[f32], M: View1[f32], *, variant: str):
    """A quotient and its largest element, as `FOLDS` names what comes between them."""
    r, c = axis("r", 1), axis("c", WIDTH)
    for nest in parallel(shape(ROWS)):
        here = coord(nest.index(), 0)
        v = X[here, shape(r, c)] / 3.0
        if variant == "stored first":
            Y.at(here, shape(r, c)).store(v)
        if variant == "written between":
            X.at(here, shape(r, c)).store(17.0)
        turned = reindex(v, shape(r, c), lambda p: coord(p.index(r), WIDTH - 1 - p.index(c)))
        source = turned if variant == "turned round" else v
        if variant == "from the left":
            total = tile.reduce(source, c, tile.add, policy=tile.fold_left)
        else:
            total = tile.reduce(source, c, tile.maximum)
        if variant in ("kept", "written between"):
            Y.at(here, shape(r, c)).store(v - total)
        M.at(coord(nest.index()), shape(r)).store(total)


FOLDS = ["only folded", "kept", "written between", "turned round", "from the left", "stored first"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("variant", FOLDS)
def test_a_fold_is_of_what_was_loaded(variant: str, way: str) -> None:
    x = data()
    full = tile.tensor_shape(ROWS, WIDTH)
    kernel = folded.capture(full, full, tile.tensor_shape(ROWS), variant=variant)
    _, y, m = left_by(kernel, [x, nothing(), np.full(ROWS, np.nan, F32)], way)
    v = x / F32(3)
    total = np.cumsum(v, axis=1, dtype=F32)[:, -1] if variant == "from the left" else v.max(1)
    assert m.tobytes() == total.tobytes()
    kept = {"stored first": v, "kept": v - total[:, None], "written between": v - total[:, None]}.get(variant)
    assert np.isnan(y).all() if kept is None else np.array_equal(y, kept)


@tile.kernel
def several_outputs(X: ConstView2[f32], Y: View2[f32], Z: View2[f32], M: View1[f32], *, variant: str):
    """One load for two stores: into halves, other views, places that overlap, one place; folded too; read back."""
    r, c = axis("r", 1), axis("c", WIDTH)
    for nest in parallel(shape(ROWS)):
        row = nest.index()
        x = X[coord(row, 0), shape(r, c)]
        second = {"overlapping": 1, "one place": 0, "read back": 1}.get(variant, WIDTH)
        Y.at(coord(row, 0), shape(r, c)).store(x + 1.0)
        if variant == "read back":
            x = Y[coord(row, 0), shape(r, c)]
        other = Z if variant == "two views" else Y
        other.at(coord(row, second), shape(r, c)).store(x * 2.0)
        if variant == "folded too":
            M.at(coord(row), shape(r)).store(tile.reduce(x, c, tile.maximum))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("variant", ["halves", "two views", "overlapping", "one place", "folded too", "read back"])
def test_outputs_of_one_load_keep_the_order_of_the_program(variant: str, way: str) -> None:
    x, y, z = data(), nothing(2 * WIDTH), nothing(2 * WIDTH)
    double = tile.tensor_shape(ROWS, 2 * WIDTH)
    kernel = several_outputs.capture(
        tile.tensor_shape(ROWS, WIDTH), double, double, tile.tensor_shape(ROWS), variant=variant
    )
    _, got, other, m = left_by(kernel, [x, y, z, np.full(ROWS, np.nan, F32)], way)
    y[:, :WIDTH] = x + 1
    second = {"overlapping": 1, "one place": 0, "read back": 1}.get(variant, WIDTH)
    (z if variant == "two views" else y)[:, second : second + WIDTH] = (x + 1 if variant == "read back" else x) * 2
    assert np.array_equal(got, y, equal_nan=True)
    assert np.array_equal(other, z, equal_nan=True)
    assert np.array_equal(m, x.max(1)) if variant == "folded too" else np.isnan(m).all()


@tile.kernel
def staged(X: View2[f32], Y: View2[f32], *, trips: int):
    """A value made in one stage and stored in the next, after its source was overwritten."""
    r, c = axis("r", 1), axis("c", WIDTH)
    for nest in parallel(shape(ROWS)):
        here = coord(nest.index(), 0)
        for step in nest.pipeline(shape(axis("t", trips)), window=2):
            step.stage("make")
            made = X[here, shape(r, c)] * 2.0
            X.at(here, shape(r, c)).store(made + 1.0)
            step.stage("store")
            Y.at(here, shape(r, c)).store(made)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("trips", [0, 1, 3])
def test_a_value_passes_a_stage_as_it_was_made(trips: int, way: str) -> None:
    x, want = data(), nothing()
    kernel = staged.capture(*[tile.tensor_shape(ROWS, WIDTH)] * 2, trips=trips)
    after, y = left_by(kernel, [x, nothing()], way)
    for _ in range(trips):
        want = x * F32(2)
        x = want + F32(1)
    assert np.array_equal(y, want, equal_nan=True)
    assert np.array_equal(after, x)
