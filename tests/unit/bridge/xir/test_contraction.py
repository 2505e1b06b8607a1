"""How a product is planned: roles by identity, lanes by what is cheap to read, operands in place only by proof."""

import pytest

from tests.unit.bridge.xir.planning import WIDE, contracts_of, label_of, places_of, planned
from tilewright import tile
from tilewright.analysis.structure import structure_of
from tilewright.bridge.xir.contraction import roles_of
from tilewright.bridge.xir.options import XirOptions, element
from tilewright.bridge.xir.plan import plan
from tilewright.bridge.xir.records import ContractPlan
from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.tiles import MmaOp
from tilewright.tile import (
    ConstView2,
    ConstView3,
    View2,
    View3,
    axis,
    coord,
    f32,
    iota,
    mma,
    parallel,
    reindex,
    shape,
    tensor_shape,
    transpose,
    zeros,
)

ELEMENT = XirOptions(lanes=element())


def only(kernel: Kernel, options: XirOptions = ELEMENT, *, may_alias: bool = False) -> ContractPlan:
    (item,) = contracts_of(kernel, planned(kernel, options, may_alias=may_alias))
    return item


@tile.kernel
def products(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], *, a_turned: bool = False, b_turned: bool = False):
    m, n, k = axis("m", C.shape[0]), axis("n", C.shape[1]), axis("k", A.shape[0 if a_turned else 1])
    for _ in parallel(shape(1)):
        a = A[coord(0, 0), shape(k, m) if a_turned else shape(m, k)]
        b = B[coord(0, 0), shape(n, k) if b_turned else shape(k, n)]
        C.at(coord(0, 0), shape(m, n)).store(mma(a, b, zeros(f32, shape(m, n))))


def made(m: int, n: int, k: int, *, a_turned: bool = False, b_turned: bool = False) -> Kernel:
    a = (k, m) if a_turned else (m, k)
    b = (n, k) if b_turned else (k, n)
    shapes = tensor_shape(*a), tensor_shape(*b), tensor_shape(m, n)
    return products.capture(*shapes, a_turned=a_turned, b_turned=b_turned)


@tile.kernel
def windows(X: ConstView2[f32], W: ConstView3[f32], Y: View3[f32], *, padding: int = 0, ordered: bool = False):
    """Y[e, n] over taps j and channels c of X[e + j - padding, c] and W[j, c, n]."""
    e, j, c, n = axis("e", Y.shape[1]), axis("j", W.shape[0]), axis("c", W.shape[1]), axis("n", W.shape[2])
    one, h = axis("one", 1), axis("h", Y.shape[1] - 1 + W.shape[0])
    for _ in parallel(shape(1)):
        x = X[coord(-padding, 0), shape(h, c)]
        around = reindex(x, shape(one, e, c, j), lambda at: coord(at.index(e) + at.index(j), at.index(c)))
        made = mma(around, W[coord(0, 0, 0), shape(j, c, n)], zeros(f32, shape(one, e, n)), reassociate=not ordered)
        Y.at(coord(0, 0, 0), shape(one, e, n)).store(made)


def windowed(channels: int, filters: int, *, padding: int = 0, ordered: bool = False) -> Kernel:
    rows = tensor_shape(22 - 2 * padding, channels)
    shapes = rows, tensor_shape(3, channels, filters), tensor_shape(1, 20, filters)
    return windows.capture(*shapes, padding=padding, ordered=ordered)


def buffered(kernel: Kernel) -> list[str]:
    """Why operands of the product have buffers."""
    places = [place for places in places_of(kernel, planned(kernel, ELEMENT)).values() for place in places]
    return [place.reason for place in places if not place.inline and place.reason != "accumulates"]


def test_windows_are_read_where_the_image_lies() -> None:
    kernel = windowed(32, 32)
    item = only(kernel)
    assert (item.a_direct, item.b_direct) == (True, True)
    assert buffered(kernel) == []


def test_of_a_padded_image_the_image_is_copied_and_not_its_windows() -> None:
    kernel = windowed(32, 32, padding=1)
    item = only(kernel)
    assert (item.a_direct, item.b_direct) == (False, True)
    assert buffered(kernel) == ["operand of a contraction: its load is guarded"]


@pytest.mark.parametrize(
    ("channels", "ordered", "inner"), [(32, False, "c"), (16, False, "c"), (15, False, "j"), (32, True, "j")]
)
def test_a_long_chain_goes_inside_short_ones_where_order_is_free(channels: int, inner: str, *, ordered: bool) -> None:
    kernel = windowed(channels, 32, ordered=ordered)
    assert label_of(kernel, only(kernel).k) == inner


def test_sums_stay_in_registers_over_all_folded_axes() -> None:
    kernel = windowed(64, 64)
    item = only(kernel)
    assert [label_of(kernel, dim) for dim in item.folds] == ["j"]
    assert [label_of(kernel, dim) for dim in item.outer] == ["one"]
    assert not planned(kernel, ELEMENT).decisions.storages


def test_filters_beyond_the_second_cache_pass_once() -> None:
    kernel = windowed(64, 2048)
    item = only(kernel)
    assert [label_of(kernel, dim) for dim in item.outer] == ["j", "one"]
    assert item.folds == ()


@pytest.mark.parametrize(
    ("a_turned", "b_turned", "lane", "direct"),
    [(False, False, "n", (True, True)), (True, False, "n", (True, True)), (True, True, "n", (True, True))],
)
def test_lanes_run_where_an_operand_is_contiguous(
    *, a_turned: bool, b_turned: bool, lane: str, direct: tuple[bool, bool]
) -> None:
    kernel = made(32, 32, 16, a_turned=a_turned, b_turned=b_turned)
    item = only(kernel)
    assert label_of(kernel, item.lane) == lane
    assert label_of(kernel, item.row) == ("m" if lane == "n" else "n")
    assert item.swapped == (lane == "m")
    assert (item.a_direct, item.b_direct) == direct
    assert label_of(kernel, item.k) == "k"


def test_a_product_from_zero_ends_in_its_store_without_a_buffer() -> None:
    kernel = made(32, 32, 16)
    decisions = planned(kernel, ELEMENT).decisions
    item = only(kernel)
    assert item.from_zero
    assert not decisions.storages
    assert item.sink == next(p for op, p in structure_of(kernel.op).position.items() if op.name == "tile.store")


@tile.kernel
def turned(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], *, shifted: bool):
    m, n, k = axis("m", 32), axis("n", 48), axis("k", 16)
    for _ in parallel(shape(1)):
        sums = mma(A[coord(0, 0), shape(m, k)], B[coord(0, 0), shape(k, n)], zeros(f32, shape(m, n)))
        result = (
            reindex(sums, shape(n, m), lambda nest: coord(31 - nest.index(m), nest.index(n)))
            if shifted
            else transpose(sums, n, m)
        )
        C.at(coord(0, 0), shape(n, m)).store(result)


@pytest.mark.parametrize("shifted", [False, True])
def test_a_result_that_is_only_turned_ends_in_its_store(*, shifted: bool) -> None:
    kernel = turned.capture(tensor_shape(32, 16), tensor_shape(16, 48), tensor_shape(48, 32), shifted=shifted)
    decisions = planned(kernel, ELEMENT).decisions
    assert bool(decisions.storages) == shifted
    if not shifted:
        assert label_of(kernel, only(kernel).lane) == "m"


def test_arguments_that_may_overlap_keep_the_sums_apart() -> None:
    kernel = made(32, 32, 16)
    decisions = planned(kernel, ELEMENT, may_alias=True).decisions
    assert only(kernel, may_alias=True).sink == next(
        p for op, p in structure_of(kernel.op).position.items() if isinstance(op, MmaOp)
    )
    assert len(decisions.storages) == 1
    assert not decisions.disjoint
    assert planned(kernel, ELEMENT).decisions.disjoint == {(0, 2), (1, 2)}


@tile.kernel
def guarded(A: View2[f32], B: ConstView2[f32], C: View2[f32], *, case: str):
    m, n, k = axis("m", 8), axis("n", 16), axis("k", 6)
    for nest in parallel(shape(1)):
        at = coord(1, 0) if case == "outside" else coord(0, 0)
        masked = A.at(at, shape(m, k)).load(where=iota(k) < 3)
        a = masked if case == "masked" else A[at, shape(m, k)]
        b = B[coord(0, 0), shape(k, n)]
        acc = zeros(f32, shape(m, n))
        if case == "overtaken":
            A.at(coord(0, 0), shape(m, k)).store(1.0)
        if case == "computed":
            a = a * 2.0
        for _ in nest.serial(shape(2)):
            acc = mma(a, b, acc)
            if case == "overtaken in the next trip":
                A.at(coord(0, 0), shape(m, k)).store(1.0)
        C.at(coord(0, 0), shape(m, n)).store(acc)


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ("plain", ""),
        ("outside", "its load is guarded"),
        ("masked", "its load is guarded"),
        ("overtaken", "a store may overtake its load"),
        ("overtaken in the next trip", "a store may overtake its load"),
        ("computed", "it is computed"),
    ],
)
def test_an_operand_is_read_in_place_only_when_that_is_the_same(case: str, why: str) -> None:
    kernel = guarded.capture(tensor_shape(8, 6), tensor_shape(6, 16), tensor_shape(8, 16), case=case)
    assert only(kernel).a_direct == (not why)
    reasons = {place.reason for places in places_of(kernel, planned(kernel, ELEMENT)).values() for place in places}
    assert (f"operand of a contraction: {why}" in reasons) == bool(why)
    assert only(kernel).in_place, "the sums stay in the home of the carry"


@pytest.mark.parametrize(("name", "swapped"), [("n", False), ("m", True)])
def test_a_named_axis_carries_the_lanes_of_a_product(name: str, *, swapped: bool) -> None:
    kernel = made(32, 32, 16)
    item = only(kernel, XirOptions(lanes=element(name)))
    assert label_of(kernel, item.lane) == name
    assert item.swapped == swapped


def test_lanes_never_run_along_the_contracted_axis() -> None:
    kernel = made(32, 32, 16)
    assert label_of(kernel, only(kernel, XirOptions(lanes=element("k"))).lane) == "n"


@pytest.mark.parametrize("width", [1, 2, 4, 16])
def test_a_fixed_width_holds_for_products_too(width: int) -> None:
    assert only(made(32, 32, 16), XirOptions(lanes=element(), lane_width=width)).tile[2] == width


BLOCKS = [
    ((128, 128, 128), (False, False), (0, 0, 0), (8, 2)),  # small enough to be read as it lies
    ((128, 128, 128), (False, True), (0, 0, 1), (8, 2)),  # except where it lies across the lanes
    ((1024, 1024, 1024), (False, False), (0, 192, 1), (6, 4)),  # B through panels
    ((512, 512, 512), (True, False), (0, 0, 1), (8, 3)),  # A goes from line to line: few panels read it
    ((1024, 1024, 1024), (True, True), (0, 192, 2), (8, 3)),  # and from far, so that it has panels, too
    ((4096, 17, 64), (False, False), (0, 0, 0), (14, 1)),  # the last column apart, in a narrow vector
    ((1, 4096, 4096), (False, False), (8, 0, 0), (1, 4)),  # B is read once: by lines,
    ((16, 4096, 4096), (False, False), (16, 0, 0), (8, 2)),
    ((64, 4096, 4096), (False, False), (1024, 0, 1), (6, 4)),  # and through panels when rows are many
]


@pytest.mark.parametrize(("size", "turned", "blocking", "tile_"), BLOCKS)
def test_blocks_follow_what_the_caches_hold(
    size: tuple[int, int, int], turned: tuple[bool, bool], blocking: tuple[int, int, int], tile_: tuple[int, int]
) -> None:
    m, n, k = size
    kernel = made(m, n, k, a_turned=turned[0], b_turned=turned[1])
    (item,) = contracts_of(kernel, plan(kernel, WIDE, ELEMENT, threads=1))
    assert (item.blocking, item.tile) == (blocking, (*tile_, 16))


@tile.kernel
def batched(A: ConstView3[f32], B: ConstView3[f32], C: View3[f32]):
    h, m, n, k = axis("h", 2), axis("m", 5), axis("n", 16), axis("k", 6)
    for _ in parallel(shape(1)):
        a, b = A[coord(0, 0, 0), shape(h, m, k)], B[coord(0, 0, 0), shape(h, k, n)]
        C.at(coord(0, 0, 0), shape(h, m, n)).store(mma(a, b, zeros(f32, shape(h, m, n))))


def test_roles_come_from_identity() -> None:
    kernel = batched.capture(tensor_shape(2, 5, 6), tensor_shape(2, 6, 16), tensor_shape(2, 5, 16))
    (op,) = (op for op in kernel.op.walk() if isinstance(op, MmaOp))
    roles = roles_of(op)
    names = [[kernel.label(dim) for dim in dims] for dims in (roles.batch, roles.contracted, roles.rows, roles.columns)]
    assert names == [["h"], ["k"], ["m"], ["n"]]
    assert [label_of(kernel, dim) for dim in only(kernel).outer] == ["h"]


def test_two_products_that_want_an_operand_along_two_axes_both_read_it() -> None:
    @tile.kernel
    def shared(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
        m, n, k = axis("m", 8), axis("n", 16), axis("k", 16)
        for _ in parallel(shape(1)):
            b = B[coord(0, 0), shape(k, n)] * 2.0
            first = mma(A[coord(0, 0), shape(m, k)], b, zeros(f32, shape(m, n)))
            C.at(coord(0, 0), shape(m, k)).store(mma(first, b, zeros(f32, shape(m, k))))

    kernel = shared.capture(tensor_shape(8, 16), tensor_shape(16, 16), tensor_shape(8, 16))
    decisions = planned(kernel, ELEMENT).decisions
    first, second = contracts_of(kernel, planned(kernel, ELEMENT))
    assert {label_of(kernel, first.lane), label_of(kernel, second.lane)} <= {"n", "k", "m"}
    shared_buffers = [item for item in decisions.storages.values() if len(item.dims) == 2 and item.extents == (16, 16)]
    assert len(shared_buffers) == 1


@tile.kernel
def followed(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], S: View2[f32], *, how: str):
    m, n, k, one = axis("m", C.shape[0]), axis("n", C.shape[1]), axis("k", A.shape[1]), axis("one", 1)
    for _ in parallel(shape(1)):
        x = mma(A[coord(0, 0), shape(m, k)], B[coord(0, 0), shape(k, n)], zeros(f32, shape(m, n)))
        y = x * 2.0
        z = tile.maximum(y, x)
        if how == "folded too":
            total = tile.reduce(y, n, tile.add)
            S.at(coord(0, 0), shape(m, one)).store(tile.map(f32, shape(m, one), lambda p: total.at(coord(p.index(m)))))
        if how == "stored too":
            S.at(coord(0, 0), shape(m, n)).store(y)
        C.at(coord(0, 0), shape(m, n)).store(z * y + x if how == "forked" else z * y)


def sink_of(how: str) -> tuple[str, int]:
    """Which operation a product ends in, and how many tiles have a buffer."""
    kernel = followed.capture(*[tensor_shape(32, 32)] * 4, how=how)
    made = planned(kernel, ELEMENT)
    (item,) = contracts_of(kernel, made)
    names = {position: op.name for op, position in structure_of(kernel.op).position.items()}
    return names[item.sink], sum(place.storage is not None for place in made.decisions.places.values())


def test_ways_that_meet_again_are_computed_in_registers() -> None:
    assert sink_of("forked") == ("tile.store", 0)
    assert sink_of("plain") == ("tile.store", 0)


@pytest.mark.parametrize("how", ["folded too", "stored too"])
def test_a_product_ends_before_what_something_else_reads(how: str) -> None:
    assert sink_of(how)[0] == "tile.mma"
