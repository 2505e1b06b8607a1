"""Every cause that a capture can have, one kernel each: the text names the variable, the line, and what to write."""

from pathlib import Path

import pytest

from tests.errors.harness import check_case, check_golden, provoke

HEADER = """\
from tilewright import tile
from tilewright.tile import *

"""

PROGRAM = """\
@tile.kernel
def k(A: ConstView2[f32], C: View2[f32]):
    m, n = axis("m", 4), axis("n", 8)
    for nest in parallel(shape(axis("g", 2))):
        a = A[coord(0, 0), shape(m, n)]
{body}

k.capture(tensor_shape(8, 8), tensor_shape(8, 8))
"""


def in_kernel(*lines: str) -> str:
    """A kernel with these lines in its root region, where `a` is a tile [m:4, n:8] of f32."""
    return HEADER + PROGRAM.format(body="\n".join(f"        {line}" for line in lines))


CASES = {
    "TW101": HEADER + 'm = axis("m", 4)\n',
    "TW102": HEADER
    + """\
kept = []

@tile.kernel
def k(A: ConstView1[f32], C: View1[f32]):
    for nest in parallel(shape(4)):
        kept.append(A[nest.index()].load())
        C[nest.index()].store(kept[0])

k.capture(tensor_shape(4), tensor_shape(4))
k.capture(tensor_shape(4), tensor_shape(4))
""",
    "TW103": in_kernel(
        "for step in nest.serial(shape(n)):",
        "    last = a.at(coord(0, step.index()))",
        "C[0, 0].store(last)",
    ),
    "TW104": HEADER
    + """\
@tile.kernel
def inner(C: View1[f32]):
    pass

@tile.kernel
def outer(C: View1[f32]):
    inner.capture(tensor_shape(4))

outer.capture(tensor_shape(4))
""",
    "TW105": HEADER
    + """\
k = tile.kernel(lambda: None)
k.capture()
""",
    "TW107": HEADER
    + """\
@tile.kernel
def k(A: ConstView1[f32], scale: float):
    pass
""",
    "TW108": HEADER
    + """\
@tile.kernel
def k(A: ConstView1[f32], *, scale: float):
    pass

k.capture(tensor_shape(4), size=2.0)
""",
    "TW109": in_kernel(
        "for step in nest.serial(shape(n)):",
        "    if n.extent > 4:",
        "        break",
    ),
    "TW110": HEADER
    + """\
def total(nest, x, n):
    acc = scalar(f32, 0.0)
    for step in nest.serial(shape(n)):
        acc = acc + x.at(step)
    return acc

@tile.kernel
def k(A: ConstView1[f32], C: View1[f32]):
    n = axis("n", 8)
    for nest in parallel(shape(axis("g", 1))):
        C[0].store(total(nest, A[coord(0), shape(n)], n))

k.capture(tensor_shape(8), tensor_shape(8))
""",
    "TW111": in_kernel("for i, j in nest.serial(shape(n)):", "    pass"),
    "TW112": in_kernel("print([a] == [a + 1.0])"),
    "TW113": in_kernel("for i in range(4):", "    if a.at(coord(0, i)) > 0.0:", "        break"),
    "TW114": in_kernel("i = nest.index()", "while i < 4:", "    i = i + 1"),
    "TW115": in_kernel("for row in a:", "    print(row)"),
    "TW116": in_kernel(
        "acc = 0",
        "for step in nest.reduce(shape(n)):",
        "    acc = acc + 0.5 * a.at(coord(0, step.index()))",
        "C[0, 0].store(acc)",
    ),
    "TW117": in_kernel("C[0, 0].store(A[0, 1] + 1.0)"),
    "TW118": in_kernel("C[coord(0, 0), shape(m, n)] = a"),
    "TW119": in_kernel(
        "class State: acc = zeros(f32, shape(m, n))",
        "for step in nest.serial(shape(4)):",
        "    State.acc = State.acc + a",
    ),
    "TW120": in_kernel(
        "rows = [a]",
        "for step in nest.serial(shape(4)):",
        "    rows.append(rows[-1] + a)",
    ),
    "TW121": HEADER
    + """\
@tile.kernel
def k(C: View1[f32]):
    zeros(f32, shape(4))

k.capture(tensor_shape(4))
""",
    "TW123": in_kernel("for inner in parallel(shape(n)):", "    pass"),
    "TW124": in_kernel("for step in nest.serial(shape(n)):", "    for again in nest.serial(shape(m)):", "        pass"),
    "TW125": in_kernel(
        "try:",
        "    for step in nest.serial(shape(n)):",
        "        raise ValueError",
        "except ValueError:",
        "    pass",
    ),
    "TW126": in_kernel(
        "handles = {}",
        "for step in nest.serial(shape(n)):",
        "    handles[0] = step",
        "C[0, 0].store(a.at(coord(0, handles[0].index())))",
    ),
    "TW127": in_kernel("C[0, nest.index(n)].store(0.0)"),
    "TW128": in_kernel("for step in nest.serial(shape(m, n)):", "    C[0, step.index()].store(0.0)"),
    "TW129": in_kernel("for step in nest.serial(shape(n)):", '    step.stage("load")'),
    "TW130": in_kernel("for step in nest.pipeline(shape(n), interval=0):", "    pass"),
    "TW131": in_kernel('q = axis("q", -1)'),
    "TW132": HEADER
    + """\
@tile.kernel
def k(C: View1[f32]):
    for i in parallel(shape(4)):
        C[i.index()].store(0.0)
    return C

k.capture(tensor_shape(4))
""",
    "TW133": in_kernel("if nest.index() > 0:", "    b = a + 1.0", "C.at(coord(0, 0), shape(m, n)).store(b)"),
    "TW134": in_kernel("scale = 1.0", "if nest.index() > 0:", "    scale = 2.0", "x = a * scale"),
    "TW203": in_kernel("c = mma(zeros(f32, shape(4, 16)), zeros(f32, shape(8, 4)), zeros(f32, shape(4, 4)))"),
    "TW205": in_kernel("C.at(coord(0, 0), shape(m, n)).store(a + cast(f64, a))"),
    "TW206": in_kernel("c = cast(i32, a) + 0.5"),
    "TW207": in_kernel('b = a + "1"'),
    "TW208": in_kernel("i = cast(i32, a)", "b = i / i"),
    "TW209": in_kernel("x = A[coord(0, 0), shape(4, 4)]", "y = A[coord(0, 0), shape(4, 5)]", "z = x < y"),
    "TW210": in_kernel("x = A[coord(0), shape(m, n)]"),
    "TW211": in_kernel(
        "acc = zeros(f32, shape(m, n))",
        "for step in nest.serial(shape(4)):",
        "    acc = cast(f16, acc + a)",
        "C.at(coord(0, 0), shape(m, n)).store(acc)",
    ),
    "TW212": in_kernel(
        'k = axis("k", 8)',
        "b = A[coord(0, 0), shape(k, n)]",
        "c = mma(a, b, zeros(f32, shape(m, n)))",
    ),
    "TW213": in_kernel(
        'k = axis("k", 8)',
        "b = A[coord(0, 0), shape(n, k)]",
        "c = mma(a, b, zeros(f16, shape(m, k)))",
    ),
    "TW214": in_kernel('k = axis("k", 8)', "s = reduce(a, k, add)"),
    "TW215": in_kernel('e = axis("e", 0)', "x = A[coord(0, 0), shape(m, e)]", "top = reduce(x, e, maximum)"),
    "TW216": in_kernel("x = reshape(a, shape(4, 4))"),
    "TW217": in_kernel("x = where(a, a, 0.0)"),
    "TW218": HEADER
    + """\
@tile.kernel
def k(A: ConstView1[f32]):
    pass

k.capture(tensor_shape(4, 4))
""",
    "TW219": in_kernel("x = A[coord(0.5, 0), shape(m, n)]"),
    "TW220": in_kernel("x = tile.map(f32, shape(m), lambda e: e.index())"),
    "TW221": in_kernel("C.at(coord(0, 0), shape(m, n)).update(a, reducer=mul)"),
    "TW222": in_kernel("x = A[0, 0].load(fill=1.0)"),
    "TW223": in_kernel(
        "if nest.index() > 0:",
        "    v = zeros(f32, shape(8))",
        "else:",
        "    v = zeros(f32, shape(16))",
        "w = v + 1.0",
    ),
    "TW224": in_kernel("if a > 0.0:", "    C[0, 0].store(1.0)"),
    "TW301": in_kernel(
        "total = scalar(f32, 0.0)",
        "for inner in nest.parallel(shape(m)):",
        "    total = total + a.at(coord(inner.index(), 0))",
    ),
    "TW302": in_kernel(
        "buffer = memory(f32, shape(m, n))",
        "for inner in nest.parallel(shape(2)):",
        "    buffer.store(a)",
    ),
}


@pytest.mark.parametrize("code", CASES)
def test_a_capture_error(code: str, tmp_path: Path) -> None:
    check_case(code, CASES[code], tmp_path)


def test_the_source_of_a_kernel_is_edited(tmp_path: Path) -> None:
    file = tmp_path / "case.py"
    text = (
        HEADER
        + "@tile.kernel\ndef k(C: View1[f32]):\n    for i in parallel(shape(4)):\n        C[i.index()].store(0.0)\n"
    )
    edit = (
        "import pathlib\npathlib.Path(__file__).write_text(pathlib.Path(__file__).read_text().replace('0.0', '1.0'))\n"
    )
    error = provoke(text + edit + "k.capture(tensor_shape(4))\n", tmp_path)
    assert "1.0" in file.read_text()
    check_golden("TW106", str(error))
