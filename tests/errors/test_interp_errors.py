"""What the interpreter finds while a kernel runs, and arrays that it refuses."""

from pathlib import Path

import numpy as np
import pytest

from tests.errors.harness import check_case
from tests.unit.interp import hand
from tilewright import interp
from tilewright.core.dtypes import f32, i32
from tilewright.core.errors import DispatchError, EffectError

NAMES = dict(vars(hand)) | {"np": np, "run": interp.run, "Checks": interp.Checks, "f32": f32, "i32": i32}


def _case(code: str, source: str, folder: Path) -> Exception:
    return check_case(code, source, folder, **NAMES)


def test_an_extract_outside_its_tile(tmp_path: Path) -> None:
    source = """\
h = Hand(x=View(i32, (4,)))
with h.parallel(space(p=2)) as p:
    x = h.load(h.x, [h.index(0)], space(m=4))
    with h.map(i32, space(n=2)) as points:
        points.yields(h.extract(x, h.do("add", points.indices[0], h.index(3))))
    h.store(h.x, p.indices, points.results[0])
run(h.kernel(), [np.zeros(4, "i4")])
"""
    assert isinstance(_case("TW340", source, tmp_path), EffectError)


def test_two_instances_that_touch_one_cell(tmp_path: Path) -> None:
    source = """\
h = Hand(x=View(f32, (9,)))
with h.parallel(space(i=2)) as p:
    tile = h.load(h.x, p.indices, space(m=4))
    h.store(h.x, [h.do("mul", p.indices[0], h.index(4))], tile)
run(h.kernel(), [np.zeros(9, "f4")])
"""
    assert isinstance(_case("TW341", source, tmp_path), EffectError)


def test_a_read_of_what_was_never_written(tmp_path: Path) -> None:
    source = """\
h = Hand(x=View(f32, (4,)))
with h.parallel(space(i=4)) as p:
    h.set(h.x, p.indices, h.do("add", h.get(h.x, *p.indices), h.const(1)))
run(h.kernel(), [np.zeros(4, "f4")], check=Checks(poison=("x",)))
"""
    assert isinstance(_case("TW342", source, tmp_path), EffectError)


def test_an_integer_division_by_zero(tmp_path: Path) -> None:
    source = """\
h = Hand(x=View(i32, (4,)))
with h.parallel(space(i=2)) as p:
    x = h.load(h.x, [h.do("mul", p.indices[0], h.index(2))], space(m=2))
    h.store(h.x, [h.do("mul", p.indices[0], h.index(2))], h.do("floor_div", x, x))
run(h.kernel(), [np.asarray([4, 3, 2, 0], "i4")])
"""
    assert isinstance(_case("TW343", source, tmp_path), EffectError)


@pytest.mark.parametrize(
    ("code", "array"),
    [
        ("TW640", "[0.0, 0.0]"),
        ("TW641", 'np.zeros(2, "f8")'),
        ("TW642", 'np.zeros(3, "f4")'),
        ("TW643", 'np.frombuffer(bytes(8), "f4")'),
        ("TW644", 'np.lib.stride_tricks.as_strided(np.zeros(1, "f4"), (2,), (0,))'),
    ],
)
def test_an_array_that_does_not_fit(code: str, array: str, tmp_path: Path) -> None:
    source = f"""\
h = Hand(x=View(f32, (2,)))
with h.parallel(space(i=2)) as p:
    h.set(h.x, p.indices, h.const(1))
run(h.kernel(), [{array}])
"""
    assert isinstance(_case(code, source, tmp_path), DispatchError)
