"""Users run type checkers too: what is right passes pyright strict, what is wrong does not."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "examples" / "gallery" / "gemm.py"

RIGHT = """\
from typing import assert_type

from tilewright import tile
from tilewright.tile import (
    ConstView1, ConstView2, Nest, Scalar, Tile, View2, axis, coord, exp, f32, i64, parallel, reduce, reducer, scan,
    shape, where,
)


@tile.kernel
def k(
    A: ConstView2[f32], B: ConstView2, C: View2[f32], alpha: Scalar[f32], beta: Scalar,
    bias: ConstView1[f32] | None = None, *, bm: int = 4,
):
    assert_type(A.shape, tuple[int, int])
    m, n = axis("m", bm), axis("n", B.shape[1])
    for nest in parallel(shape(m)):
        assert_type(nest, Nest)
        assert_type(nest.index(), Scalar)
        a = A[coord(nest.index() * bm, 0), shape(m, n)]
        assert_type(a, Tile)
        assert_type(a + 1, Tile)
        assert_type(2 * a, Tile)
        assert_type(a.at(coord(0, 0)) * a, Tile)
        assert_type(a.at(coord(0, 0)) * 2, Scalar)
        assert_type(exp(a), Tile)
        assert_type(where(a > 0, a, 0), Tile)
        assert_type(tile.maximum(a, 0), Tile)
        assert_type(reduce(a, n, tile.add), Tile)
        assert_type(A[0, nest.index()].load(), Scalar)
        assert_type(a * alpha + alpha * a - beta, Tile)
        if alpha > 0:
            a = a * beta
        first = reducer(state=(f32, i64), identity=(0, -1), merge=lambda x, _: x, lift=lambda x: (x, 0))
        value, _ = reduce(a, n, first, policy="fold_left")
        assert_type(value, Tile)
        assert_type(scan(a, n, reducer(state=f32, identity=0, merge=lambda x, y: x + y)), Tile)
        if bias is not None:
            a = a + bias[coord(0), shape(n)]
        C.at(coord(0, 0), shape(m, n)).store(a)
        C[0, 0].store(1.0)
"""

WRONG = {
    'A[coord(0, 0), shape(m, n)] + "1"': "reportOperatorIssue",
    "A[0, 0].store(1.0)": "reportAttributeAccessIssue",
    "A.at(coord(0, 0), shape(m, n)).store(1.0)": "reportAttributeAccessIssue",
    "A[0, 0] + 1.0": "reportOperatorIssue",
    "A[0]": "reportArgumentType",
    "A + A": "reportOperatorIssue",
}


def test_the_sample_and_its_mistakes(tmp_path: Path) -> None:
    """One run of the checker, because it takes seconds to start."""
    (tmp_path / "right.py").write_text(RIGHT)
    head = RIGHT[: RIGHT.index("        assert_type(nest, Nest)")].replace("from typing import assert_type\n", "")
    head = head.replace("    assert_type(A.shape, tuple[int, int])\n", "")
    for place, line in enumerate(WRONG):
        (tmp_path / f"wrong{place}.py").write_text(f"{head}        print(nest, {line})\n")
    (tmp_path / "sample.py").write_text(SAMPLE.read_text())
    found = checked(tmp_path)
    assert found.get("right.py", []) == []
    assert found.get("sample.py", []) == []
    missed = {line: found.get(f"wrong{place}.py", []) for place, line in enumerate(WRONG)}
    assert {line for line, rules in missed.items() if WRONG[line] not in rules} == set()


def checked(folder: Path) -> dict[str, list[str]]:
    """The rules that each file of a folder breaks under pyright strict."""
    config = {
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "extraPaths": [str(ROOT / "src")],
        "venvPath": str(ROOT),
        "venv": ".venv",
        "reportUnusedExpression": False,
        "reportUnusedImport": False,
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(config))
    command = [sys.executable, "-m", "pyright", "--outputjson", "-p", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    rules: dict[str, list[str]] = {}
    for each in json.loads(done.stdout)["generalDiagnostics"]:
        rules.setdefault(Path(each["file"]).name, []).append(each.get("rule", each["message"]))
    return rules
