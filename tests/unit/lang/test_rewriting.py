"""The rewritten function is the original one, but for regions and the operators on staged values."""

from pathlib import Path
from typing import Any

import pytest

from tests.errors.harness import provoke
from tests.unit.lang.shapes import all_names, every, only
from tilewright import tile
from tilewright.core.errors import CaptureError
from tilewright.ir.ops.convert import SelectOp
from tilewright.ir.ops.elementwise import LogicalAndOp, LtOp
from tilewright.ir.ops.regions import SerialOp
from tilewright.tile import View1, axis, f32, parallel, scalar, shape, tensor_shape
from tilewright.tile import parallel as everywhere

HEADER = """\
from tilewright import tile
from tilewright.tile import axis, coord, f32, parallel, scalar, shape, tensor_shape, View1

total = 0
@tile.kernel
def k(C: View1[f32]):
    n = axis("n", 4)
    acc = None
    for nest in parallel(shape(axis("g", 1))):
        acc_ = scalar(f32, 0.0)
"""


@pytest.mark.parametrize(
    ("word", "lines"),
    [
        ("`break`", ["for step in nest.serial(shape(n)):", "    break"]),
        ("`continue`", ["for step in nest.serial(shape(n)):", "    continue"]),
        ("`return`", ["for step in nest.serial(shape(n)):", "    return"]),
        ("`else`", ["for step in nest.serial(shape(n)):", "    pass", "else:", "    pass"]),
        ("`del`", ["for step in nest.serial(shape(n)):", "    del acc_"]),
        ("`break`", ["for i in range(2):", "    for step in nest.serial(shape(n)):", "        break"]),
        ("`nonlocal acc_`", ["def change():", "    nonlocal acc_", "    acc_ = acc_ + 1.0", "change()"]),
        ("`global total`", ["global total", "for step in nest.serial(shape(n)):", "    total = 1"]),
    ],
)
def test_statements_that_a_region_cannot_hold(word: str, lines: list[str], tmp_path: Path) -> None:
    source = HEADER + "".join(f"        {line}\n" for line in lines) + "k.capture(tensor_shape(4))\n"
    error = provoke(source, tmp_path)
    assert error.diagnostic.code.id == "TW109"
    assert word in str(error)


def test_assigning_a_global_in_a_region_is_refused(tmp_path: Path) -> None:
    text = HEADER.replace("    n = axis", "    global total\n    n = axis")
    lines = "        for step in nest.serial(shape(n)):\n            total = 1\n"
    assert "`total`" in str(provoke(text + lines + "k.capture(tensor_shape(4))\n", tmp_path))


@pytest.mark.parametrize(
    "statement",
    [
        "acc = acc + 1.0",
        "acc += 1.0",
        "acc: object = acc + 1.0",
        "(acc := acc + 1.0)",
        "[acc := acc + 1.0 for _ in range(1)]",
        "(acc, _) = (acc + 1.0, 0)",
        "[acc, *_] = [acc + 1.0, 0, 0]",
        "for acc in [acc + 1.0]: pass",
        "with held(acc + 1.0) as acc: pass",
        "match acc + 1.0:\n                case acc: pass",
    ],
)
def test_every_form_of_assignment_is_seen(statement: str, tmp_path: Path) -> None:
    source = f"""\
import contextlib
from tilewright import tile
from tilewright.tile import axis, f32, parallel, scalar, shape, View1

@contextlib.contextmanager
def held(value):
    yield value

@tile.kernel
def k(C: View1[f32]):
    for nest in parallel(shape(axis("g", 1))):
        acc = scalar(f32, 0.0)
        for step in nest.serial(shape(axis("n", 4))):
            {statement}
        C[0].store(acc)
"""
    file = tmp_path / "case.py"
    file.write_text(source)
    namespace: dict[str, Any] = {"__name__": "case"}
    exec(compile(source, str(file), "exec", dont_inherit=True), namespace)
    kernel = namespace["k"].capture(tensor_shape(1))
    assert len(only(kernel, SerialOp).carries) == 1


def test_operators_on_host_values_are_pythons() -> None:
    seen: list[object] = []

    def called(value: Any) -> Any:
        seen.append(value)
        return value

    results: list[object] = []

    @tile.kernel
    def host(C: View1[f32]):
        results.append(called(0) and called(1))
        results.append(called([]) or called("x") or called(2))
        results.append(not called(""))
        results.append(1 < called(3) <= 3 > called(2))
        results.append(called(5) < 4 < called(6))
        results.append("a" if called(1) else called("never"))
        results.append([a and b for a in (0, 1) for b in (2, 3)])
        for nest in parallel(shape(4)):
            C[nest.index()].store(0.0)

    host.capture(tensor_shape(4))
    assert seen == [0, [], "x", "", 3, 2, 5, 1]
    assert results == [0, "x", True, True, False, "a", [0, 0, 2, 3]]


def test_operators_on_staged_values_are_operations() -> None:
    @tile.kernel
    def staged(C: View1[f32]):
        for nest in parallel(shape(axis("i", 8))):
            i = nest.index()
            inside = 0 < i < 7
            C[i].store(1.0 * scalar(f32, 2.0) if inside else scalar(f32, 3.0), where=True and (i > 2 or inside))

    kernel = staged.capture(tensor_shape(8))
    assert len(every(kernel, SelectOp)) == 1
    assert len(every(kernel, LogicalAndOp)) == 1
    assert "logical_or" in all_names(kernel)
    assert len(every(kernel, LtOp)) == 1  # 0 < i is reflected into i > 0
    assert all_names(kernel).count("gt") == 2


def test_parallel_is_known_by_what_it_is_not_by_its_name() -> None:
    def fake(values: list[int]) -> list[int]:
        return values

    @tile.kernel
    def renamed(C: View1[f32]):
        parallel = fake
        total = 0
        for i in parallel([1, 2, 3]):
            total += i
            if i == 2:
                break
        for nest in everywhere(shape(4)):
            C[nest.index()].store(float(total))

    renamed.capture(tensor_shape(4))


def test_a_region_through_the_module_is_one() -> None:
    @tile.kernel
    def dotted(C: View1[f32]):
        for nest in tile.parallel(shape(4)):
            C[nest.index()].store(0.0)

    dotted.capture(tensor_shape(4))


def test_closures_and_defaults_are_the_originals() -> None:
    size = 4

    @tile.kernel
    def closed(C: View1[f32], *, value: float = 2.0):
        for nest in parallel(shape(size)):
            C[nest.index()].store(value)

    first = closed.capture(tensor_shape(8))
    size = 8
    assert first.hash != closed.capture(tensor_shape(8)).hash


@tile.inline
def doubled(nest: tile.Nest, value: tile.Scalar, times: int) -> tile.Scalar:
    for _ in nest.serial(shape(axis("t", times))):
        value = value + value
    return value


def test_an_inline_function_may_hold_regions() -> None:
    @tile.kernel
    def calling(C: View1[f32]):
        for nest in parallel(shape(4)):
            C[nest.index()].store(doubled(nest, scalar(f32, 1.0), 3))

    assert len(only(calling.capture(tensor_shape(4)), SerialOp).carries) == 1
    assert doubled.__name__ == "doubled"


def test_a_region_held_in_a_variable_is_refused() -> None:
    @tile.kernel
    def held(C: View1[f32]):
        region = parallel(shape(4))
        for nest in region:
            C[nest.index()].store(0.0)

    with pytest.raises(CaptureError, match="TW110"):
        held.capture(tensor_shape(4))


def test_the_rewritten_text_can_be_read() -> None:
    source = doubled_kernel.rewritten_source()
    assert "_tw.enter(parallel(shape(4)), ('x', 'nest'), ('x',))" in source
    assert source == doubled_kernel.capture(tensor_shape(4)).rewritten_source


@tile.kernel
def doubled_kernel(C: View1[f32]):
    for nest in parallel(shape(4)):
        x = scalar(f32, 1.0)
        C[nest.index()].store(x)


def test_a_kernel_without_a_file_is_refused() -> None:
    namespace: dict[str, Any] = {"tile": tile, "View1": View1, "f32": f32}
    exec("@tile.kernel\ndef k(C: View1[f32]):\n    pass\n", namespace)
    with pytest.raises(CaptureError, match="TW105"):
        namespace["k"].capture(tensor_shape(4))
