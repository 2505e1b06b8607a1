import enum
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tilewright.core import digest as module
from tilewright.core.digest import compiler_digest, digest, sources_digest
from tilewright.core.dtypes import f16, f32
from tilewright.core.errors import InternalError


class Colour(enum.Enum):
    RED = 1


@dataclass(frozen=True)
class Point:
    x: int
    y: int


@dataclass(frozen=True)
class Pair:
    x: int
    y: int


DISTINCT: list[tuple[object, ...]] = [
    (),
    ((),),
    ([],),
    ({},),
    (frozenset[int](),),
    (None,),
    (0,),
    (0.0,),
    (-0.0,),
    (False,),
    ("",),
    (b"",),
    ("0",),
    (b"0",),
    ("ab",),
    ("a", "b"),
    ("b", "a"),
    (("a", "b"),),
    (["a", "b"],),
    (1, 2),
    ((1,), 2),
    (1, (2,)),
    (f16,),
    (f32,),
    ("f32",),
    (Colour.RED,),
    (1,),
    (Point(1, 2),),
    (Point(2, 1),),
    (Pair(1, 2),),
    (Path("a"),),
    ("a",),
    ({"a": 1},),
    ({1: "a"},),
    ({"a"},),
]


def test_different_parts_have_different_digests() -> None:
    assert len({digest(*parts) for parts in DISTINCT}) == len(DISTINCT)


def test_sets_and_mappings_have_no_order() -> None:
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest({"a", "b", "c"}) == digest({"c", "b", "a"})


def test_equal_parts_have_equal_digests_in_every_process() -> None:
    parts = "1, 2.5, 'a', (True, None), {'x': {'y', 'z'}}, f32"
    program = (
        f"from tilewright.core.digest import digest; from tilewright.core.dtypes import f32; print(digest({parts}))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert found == {digest(1, 2.5, "a", (True, None), {"x": {"y", "z"}}, f32)}


def test_nan_is_equal_to_itself_here() -> None:
    assert digest(float("nan")) == digest(float("nan"))


@pytest.mark.parametrize("value", [object(), test_nan_is_equal_to_itself_here, int, 1j])
def test_a_value_without_encoding_is_refused(value: object) -> None:
    with pytest.raises(InternalError):
        digest((1, value))


def test_the_compiler_has_one_digest() -> None:
    assert compiler_digest() == module.COMPILER_DIGEST
    assert len(compiler_digest()) == 64
    assert not hasattr(module, "OTHER_DIGEST")


def _edit(file: Path, text: str) -> float:
    """Writes a file as if an hour ago, and says when its process may have loaded it."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    before = time.time() - 3600
    os.utime(file, (before, before))
    return time.time() - 1800


def test_an_edited_source_is_another_compiler(tmp_path: Path) -> None:
    seen: list[str] = []
    for name, text in [("a/x.py", "1"), ("a/x.py", "2"), ("a/y.py", "2"), ("b/x.py", ""), ("z.py", "")]:
        loaded = _edit(tmp_path / name, text)
        assert sources_digest(tmp_path, loaded) == sources_digest(tmp_path, loaded)
        seen.append(sources_digest(tmp_path, loaded))
    (tmp_path / "z.py").rename(tmp_path / "zz.py")
    seen.append(sources_digest(tmp_path, loaded))
    assert len(set(seen)) == len(seen)
    _edit(tmp_path / "a" / "x.pyc", "3")
    assert sources_digest(tmp_path, loaded) == seen[-1]


def test_a_compiler_edited_while_it_runs_is_nobody_elses(tmp_path: Path) -> None:
    _edit(tmp_path / "x.py", "1")
    early = time.time() - 7200
    assert sources_digest(tmp_path, early) != sources_digest(tmp_path, early)
