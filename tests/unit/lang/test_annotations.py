"""Annotations that are text mean the same, wherever the kernel is written."""

from __future__ import annotations

import pytest

from tilewright import tile
from tilewright.core.dtypes import DType
from tilewright.core.errors import CaptureError
from tilewright.lang.annotations import read_annotation
from tilewright.tile import ConstView1, ConstView2, View2, axis, f32, parallel, shape, tensor_shape


@tile.kernel
def textual(A: ConstView2[f32], C: View2, bias: ConstView1[f32] | None = None):
    for nest in parallel(shape(axis("i", 4), axis("j", 4))):
        i, j = nest.coords()
        C[i, j].store(A[i, j].load())


def test_text_is_evaluated_in_the_module() -> None:
    assert [str(view.annotation) for view in textual.signature.parameters] == [
        "ConstView2[f32]",
        "View2",
        "ConstView1[f32] | None",
    ]
    assert len(textual.capture(tensor_shape(4, 4), tensor_shape(4, 4, dtype=f32)).parameters) == 2


def test_text_is_evaluated_in_the_function_around() -> None:
    from tilewright.tile import f64 as double

    @tile.kernel
    def local(A: ConstView2[double]):
        pass

    assert local.signature.parameters[0].annotation.dtype is double


@pytest.mark.parametrize("annotation", [int, None, "View2", View2 | int, list[int]])
def test_other_annotations_are_no_views(annotation: object) -> None:
    assert read_annotation(annotation) is None


def test_any_element_type_is_written_bare() -> None:
    for annotation in (View2, View2[DType]):
        found = read_annotation(annotation)
        assert found is not None
        assert found.dtype is None


def test_a_name_nobody_knows_is_refused() -> None:
    def wrong(A: object) -> None:
        pass

    wrong.__annotations__["A"] = "Unknown2[f32]"
    with pytest.raises(CaptureError, match="annotated as Unknown2"):
        tile.kernel(wrong)


@pytest.mark.parametrize("source", ["*args", "**kwargs", "A: ConstView2[f32] = 3", "A"])
def test_parameters_that_are_neither_view_nor_configuration(source: str) -> None:
    program = f"def wrong({source}):\n    pass\n"
    namespace: dict[str, object] = {"ConstView2": ConstView2, "f32": f32}
    exec(program, namespace)
    with pytest.raises(CaptureError, match="TW107"):
        tile.kernel(namespace["wrong"])  # pyright: ignore[reportCallIssue, reportArgumentType]
