"""A capture runs the body once and leaves the IR that was written, for arguments as they are described."""

import threading

import pytest

from examples.gallery.attention import grouped_attention
from examples.gallery.gemm import gemm
from tests.unit.lang.shapes import body, every, names, only, root, views
from tilewright import tile
from tilewright.core.errors import CaptureError, KernelError, TileTypeError
from tilewright.core.source import source_line
from tilewright.ir.attrs import Bounds
from tilewright.ir.location import span_of
from tilewright.ir.ops.access import LoadElementOp, LoadOp, StoreElementOp
from tilewright.ir.ops.elementwise import AddOp, LogicalAndOp, LogicalNotOp, LogicalOrOp
from tilewright.ir.ops.regions import ParallelOp, PipelineOp, ReduceOp, SerialOp
from tilewright.ir.ops.tiles import MmaOp
from tilewright.ir.types import ViewType
from tilewright.tile import (
    ConstView1,
    ConstView2,
    View1,
    View2,
    axis,
    boolean,
    coord,
    f16,
    f32,
    parallel,
    scalar,
    shape,
    tensor_shape,
)  # fmt: skip

runs: list[int] = []


@tile.kernel
def vector_add(a: ConstView1[f32], b: ConstView1[f32], c: View1[f32]):
    runs.append(c.shape[0])
    for nest in parallel(shape(axis("i", c.shape[0]))):
        i = nest.index()
        c[i].store(a[i].load() + b[i].load())


def test_nothing_runs_before_capture_and_each_capture_runs_once() -> None:
    runs.clear()
    first = vector_add.capture(tensor_shape(17), tensor_shape(17), tensor_shape(17))
    second = vector_add.capture(tensor_shape(31), tensor_shape(31), tensor_shape(31))
    assert runs == [17, 31]
    assert [root(kernel).space.extents for kernel in (first, second)] == [(17,), (31,)]


def test_vector_add_is_exactly_two_loads_an_add_and_a_store() -> None:
    kernel = vector_add.capture(tensor_shape(17), tensor_shape(17), tensor_shape(17))
    parallel_op = root(kernel)
    assert names(body(kernel.op)) == ["parallel", "yield"]
    assert names(body(parallel_op)) == ["load_element", "load_element", "add", "store_element", "yield"]
    assert (len(parallel_op.operands), len(parallel_op.results), len(body(parallel_op).args)) == (0, 0, 1)
    loads, add, store = every(kernel, LoadElementOp), only(kernel, AddOp), only(kernel, StoreElementOp)
    assert [load.view for load in loads] == list(kernel.op.body.block.args[:2])
    assert [add.lhs, add.rhs] == [load.result for load in loads]
    assert store.view is kernel.op.body.block.args[2]
    assert store.value is add.result
    assert store.index[0] is body(parallel_op).args[0]


def test_argument_names_come_from_the_signature_or_the_call() -> None:
    kernel = vector_add.capture(tensor_shape(4), tensor_shape(4, name="other"), tensor_shape(4))
    assert [parameter.name for parameter in kernel.parameters] == ["a", "other", "c"]


def test_a_sum_in_a_fold_is_one_carry_with_the_state_first() -> None:
    @tile.kernel
    def row_sum(X: ConstView2[f32], S: View1[f32]):
        i, j = axis("i", X.shape[0]), axis("j", X.shape[1])
        for nest in parallel(shape(i)):
            total = scalar(f32, 0.0)
            for step in nest.reduce(shape(j)):
                total = total + X[nest.index(), step.index()].load()
            S[nest.index()].store(total)

    kernel = row_sum.capture(tensor_shape(5, 7), tensor_shape(5))
    assert names(body(root(kernel))) == ["constant", "reduce", "store_element", "yield"]
    fold = only(kernel, ReduceOp)
    assert names(body(fold)) == ["load_element", "add", "yield"]
    assert (len(fold.inits), len(fold.results), len(body(fold).args)) == (1, 1, 2)
    add = only(kernel, AddOp)
    assert add.lhs is fold.carries[0]
    assert only(kernel, StoreElementOp).value is fold.results[0]


def test_a_masked_neighbour_has_a_mask_and_a_fill() -> None:
    @tile.kernel
    def neighbour(X: ConstView1[f32], keep: ConstView1[boolean], Y: View1[f32]):
        for nest in parallel(shape(axis("i", 8))):
            i = nest.index()
            inside = not (i == 0 or not (keep[i].load() and i < 8))
            Y[i].store(X[i - 1].load(where=inside, fill=0.5))

    kernel = neighbour.capture(tensor_shape(8), tensor_shape(8), tensor_shape(8))
    logical = [type(op) for op in kernel.module.walk() if isinstance(op, LogicalAndOp | LogicalOrOp | LogicalNotOp)]
    guard = [LogicalNotOp]  # the right side of `or` is read where the left one does not hold
    assert logical == [*guard, LogicalAndOp, LogicalNotOp, LogicalOrOp, LogicalNotOp]
    load = every(kernel, LoadElementOp)[-1]
    assert load.predicate is not None
    assert load.fill is not None
    assert len(load.operands) == 4


@pytest.mark.parametrize(("window", "interval"), [(None, 1), (1, 1), (2, 3)])
def test_a_pipeline_keeps_its_window_and_interval(window: int | None, interval: int) -> None:
    @tile.kernel
    def piped():
        for nest in parallel(shape(axis("g", 1))):
            for step in nest.pipeline(shape(axis("k", 3)), window=window, interval=interval):
                step.stage("load")
                step.stage()

    op = only(piped.capture(), PipelineOp)
    assert (op.window.data, op.interval.data, len(op.results)) == (window or 0, interval, 0)
    assert names(body(op)) == ["stage", "stage", "yield"]


@pytest.mark.parametrize(
    "policy", [{"window": 0}, {"window": -1}, {"interval": 0}, {"window": 2**32}, {"interval": 2**32}]
)
def test_a_window_or_interval_out_of_range_is_refused(policy: dict[str, int]) -> None:
    @tile.kernel
    def piped():
        for nest in parallel(shape(axis("g", 1))):
            for _ in nest.pipeline(shape(axis("k", 3)), **policy):
                pass

    with pytest.raises(CaptureError, match="TW130"):
        piped.capture()


def test_the_sample_has_one_mma_on_its_carry() -> None:
    kernel = gemm.capture(tensor_shape(13, 15), tensor_shape(15, 19), tensor_shape(13, 19), bm=8, bn=8, bk=4)
    pipeline, mma = only(kernel, PipelineOp), only(kernel, MmaOp)
    assert pipeline.window.data == 2
    assert mma.c is pipeline.carries[0]
    assert [load.bounds.data for load in every(kernel, LoadOp)] == [Bounds.ZERO, Bounds.ZERO]
    assert list(body(pipeline).last_op.operands) == [mma.result]  # pyright: ignore[reportOptionalMemberAccess]


def test_locations_are_the_expressions_of_the_original_text() -> None:
    kernel = gemm.capture(tensor_shape(8, 8), tensor_shape(8, 8), tensor_shape(8, 8))
    span = span_of(only(kernel, MmaOp))
    assert source_line(span.file, span.line)[span.column - 1 : span.end_column - 1] == "mma(a, b, acc)"
    assert span.function == "gemm"


@pytest.mark.parametrize("extents", [(0, 5, 5), (5, 0, 5), (5, 5, 0), (1, 1, 1)])
def test_extents_of_nothing_and_of_one(extents: tuple[int, int, int]) -> None:
    m, n, k = extents
    kernel = gemm.capture(tensor_shape(m, k), tensor_shape(k, n), tensor_shape(m, n), bm=4, bn=4, bk=4)
    assert root(kernel).space.extents == ((m + 3) // 4, (n + 3) // 4)


def test_strides_are_part_of_the_signature() -> None:
    shapes = tensor_shape(4, strides=(3,)), tensor_shape(4), tensor_shape(4)
    assert views(vector_add.capture(*shapes))[0].strides == (3,)
    with pytest.raises(CaptureError, match="2 strides for 1 axis"):
        tensor_shape(4, strides=(8, 1))


@tile.kernel
def scaled(X: ConstView1, Y: View1, factor: ConstView1[f32] | None = None, *, by: float = 2.0):
    for nest in parallel(shape(axis("i", 4))):
        i = nest.index()
        x = X[i].load() * by
        Y[i].store(x if factor is None else x * factor[i].load())


def test_an_absent_view_is_none_and_not_in_the_ir() -> None:
    with_f32 = tensor_shape(4, dtype=f32)
    absent = scaled.capture(with_f32, with_f32)
    present = scaled.capture(with_f32, with_f32, tensor_shape(4))
    assert [parameter.name for parameter in absent.parameters] == ["X", "Y"]
    assert [parameter.name for parameter in present.parameters] == ["X", "Y", "factor"]
    assert scaled.capture(with_f32, with_f32, None).hash == absent.hash


def test_a_bare_view_takes_the_type_of_the_capture() -> None:
    kernel = scaled.capture(tensor_shape(4, dtype=f16), tensor_shape(4, dtype=f16))
    assert [parameter.element for parameter in kernel.parameters] == [f16, f16]
    with pytest.raises(CaptureError, match="needs dtype="):
        scaled.capture(tensor_shape(4), tensor_shape(4))


def test_a_view_with_a_type_takes_no_other() -> None:
    with pytest.raises(TileTypeError, match="`a` of vector_add expects f32, got f16"):
        vector_add.capture(tensor_shape(4, dtype=f16), tensor_shape(4), tensor_shape(4))


def test_const_views_are_const_in_the_ir() -> None:
    kernel = vector_add.capture(tensor_shape(4), tensor_shape(4), tensor_shape(4))
    assert [view.is_const for view in views(kernel)] == [True, True, False]


def test_configuration_changes_the_program() -> None:
    def captured(by: float) -> str:
        return scaled.capture(tensor_shape(4, dtype=f32), tensor_shape(4, dtype=f32), by=by).hash

    assert captured(2.0) == captured(2.0) != captured(3.0)


def test_a_kernel_has_the_name_it_is_given() -> None:
    @tile.kernel(name="second")
    def first(C: View1[f32]):
        for nest in parallel(shape(4)):
            C[nest.index()].store(0.0)

    assert first.capture(tensor_shape(4)).name == "second"


def test_an_exception_of_the_body_comes_out_and_leaves_no_capture() -> None:
    class MineError(Exception):
        pass

    @tile.kernel
    def failing(C: View1[f32]):
        for _ in parallel(shape(4)):
            raise MineError

    for _ in range(2):
        with pytest.raises(MineError):
            failing.capture(tensor_shape(4))
    with pytest.raises(CaptureError, match="TW101"):
        shape(4)


def test_blocks_of_nothing_are_refused() -> None:
    shapes = [tensor_shape(1, 2, 4, 8), tensor_shape(1, 2, 4, 8), tensor_shape(1, 2, 4, 8), tensor_shape(1, 2, 4, 8)]
    with pytest.raises(CaptureError, match=r"TW131.*pieces of size 0"):
        grouped_attention.capture(*shapes, bq=2, bk=0)
    keyless = tensor_shape(1, 0, 4, 8)
    with pytest.raises(ZeroDivisionError):  # the kernel's own arithmetic on a number of heads
        grouped_attention.capture(shapes[0], keyless, keyless, shapes[3])


def test_threads_capture_apart() -> None:
    hashes: list[str] = []

    def work() -> None:
        hashes.append(gemm.capture(tensor_shape(9, 9), tensor_shape(9, 9), tensor_shape(9, 9)).hash)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(hashes)) == 1
    assert len(hashes) == 4


def test_two_captures_of_one_kernel_are_equal_but_share_nothing() -> None:
    first, second = (vector_add.capture(tensor_shape(4), tensor_shape(4), tensor_shape(4)) for _ in range(2))
    assert first.hash == second.hash
    assert first.module is not second.module


def test_an_index_of_an_enclosing_region_is_its_argument() -> None:
    @tile.kernel
    def nested(C: View2[f32]):
        i, j = axis("i", 3), axis("j", 5)
        for nest in parallel(shape(i)):
            for inner in nest.parallel(shape(j)):
                C[inner.index(i), inner.index(j)].store(0.0)

    kernel = nested.capture(tensor_shape(3, 5))
    outer, inner = every(kernel, ParallelOp)
    store = only(kernel, StoreElementOp)
    assert list(store.index) == [body(outer).args[0], body(inner).args[0]]


def test_the_innermost_coordinate_of_an_axis_wins() -> None:
    @tile.kernel
    def again(C: View1[f32]):
        i = axis("i", 3)
        for nest in parallel(shape(i)):
            for inner in nest.serial(shape(i)):
                C[inner.index(i)].store(0.0, where=nest.index(i) == 0)

    kernel = again.capture(tensor_shape(3))
    assert only(kernel, StoreElementOp).index[0] is body(only(kernel, SerialOp)).args[0]


def test_the_view_type_is_the_declared_one() -> None:
    kernel = gemm.capture(tensor_shape(4, 6), tensor_shape(6, 5), tensor_shape(4, 5))
    first = views(kernel)[0]
    assert isinstance(first, ViewType)
    assert (first.space.extents, first.strides) == ((4, 6), (6, 1))


def test_all_coordinates_at_once() -> None:
    @tile.kernel
    def both(C: View2[f32]):
        for nest in parallel(shape(axis("i", 3), axis("j", 5))):
            i, j = nest.coords()
            C.at(coord(i, j), shape(1, 1)).store(0.0)

    assert names(body(root(both.capture(tensor_shape(3, 5))))) == ["constant", "store", "yield"]


@pytest.mark.parametrize(
    ("outer", "inner", "code"),
    [
        ("group", "worker", None),
        ("group", "group", None),
        ("worker", "group", "TW354"),
        ("tenant", "group", None),
        ("", None, "TW130"),
    ],
)
def test_a_scope_lies_inside_the_one_around_it(outer: str, inner: str | None, code: str | None) -> None:
    @tile.kernel
    def scoped(C: View2[f32]):
        for nest in parallel(shape(axis("i", 2)), scope=outer):
            for again in nest.parallel(shape(axis("j", 2)), scope=inner):
                C[nest.index(), again.index()].store(0.0)

    if code is not None:
        with pytest.raises(KernelError, match=code):
            scoped.capture(tensor_shape(2, 2))
        return
    scopes = [op.scope.data for op in every(scoped.capture(tensor_shape(2, 2)), ParallelOp) if op.scope is not None]
    assert scopes == [outer, inner]


@pytest.mark.parametrize(
    ("arguments", "keywords", "problem"),
    [
        (3, {"scale": 1.0}, "3 positional arguments are given, and it takes 2"),
        (2, {"size": 1.0, "scale": 1.0}, "it has no parameter size"),
        (2, {"A": None, "scale": 1.0}, "the argument A is given twice"),
        (1, {"scale": 1.0}, "the argument C is missing"),
        (2, {}, "the argument scale is missing"),
    ],
)
def test_arguments_that_do_not_fit_are_told_in_our_words(
    arguments: int, keywords: dict[str, object], problem: str
) -> None:
    @tile.kernel
    def scaled(A: ConstView1[f32], C: View1[f32], *, scale: float, offset: float = 0.0):
        for nest in parallel(shape(A.shape[0])):
            C[nest.index()].store(A[nest.index()].load() * scale + offset)

    with pytest.raises(CaptureError, match=rf"TW108.*{problem}\n"):
        scaled.capture(*[tensor_shape(4)] * arguments, **keywords)


def test_an_argument_that_goes_by_place_is_not_given_by_name() -> None:
    @tile.kernel
    def copied(A: ConstView1[f32], /, C: View1[f32]):
        for nest in parallel(shape(A.shape[0])):
            C[nest.index()].store(A[nest.index()].load())

    with pytest.raises(CaptureError, match=r"TW108.*the argument A is given by name, and it goes by place\n"):
        copied.capture(A=tensor_shape(4), C=tensor_shape(4))
