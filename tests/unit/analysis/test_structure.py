"""Where operations stand, and which write lies between two of them."""

from tests.unit.analysis.finding import all_of, one_of
from tilewright import tile
from tilewright.analysis.structure import structure_of
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.regions import ParallelOp, SerialOp
from tilewright.tile import View1, axis, coord, f32, parallel, shape, tensor_shape


@tile.kernel
def kernel(X: View1[f32], Y: View1[f32]):
    e = axis("e", 4)
    for nest in parallel(shape(3)):
        at = coord(nest.index() * 4)
        first = X[at, shape(e)]
        for _ in nest.serial(shape(5)):
            second = Y[at, shape(e)]
            Y.at(at, shape(e)).store(first + second)
            X.at(at, shape(e)).store(second)
        Y.at(at, shape(e)).store(X[at, shape(e)])


CAPTURED = kernel.capture(tensor_shape(12), tensor_shape(12))
STRUCTURE = structure_of(CAPTURED.op)
FIRST, SECOND, LAST = all_of(CAPTURED, LoadOp)
INTO_Y, INTO_X, AFTER = all_of(CAPTURED, StoreOp)
X, Y = CAPTURED.op.body.block.args


def test_operations_are_numbered_as_they_are_written() -> None:
    places = [STRUCTURE.position[op] for op in (FIRST, SECOND, INTO_Y, INTO_X, LAST, AFTER)]
    assert places == sorted(places)
    assert STRUCTURE.last[one_of(CAPTURED, SerialOp)] < STRUCTURE.position[LAST]
    assert STRUCTURE.last[one_of(CAPTURED, ParallelOp)] >= STRUCTURE.position[AFTER]


def test_a_write_in_the_loop_of_the_end_lies_between_although_it_is_written_later() -> None:
    assert STRUCTURE.position[INTO_X] > STRUCTURE.position[INTO_Y]
    assert STRUCTURE.writes_between(FIRST, INTO_Y, X, may_alias=False) is INTO_X


def test_within_one_trip_only_what_is_written_between_counts() -> None:
    assert STRUCTURE.writes_between(SECOND, INTO_Y, Y, may_alias=False) is None
    assert STRUCTURE.writes_between(SECOND, INTO_X, Y, may_alias=False) is INTO_Y
    assert STRUCTURE.writes_between(LAST, AFTER, X, may_alias=False) is None


def test_aliases_make_every_write_count() -> None:
    assert STRUCTURE.writes_between(SECOND, INTO_X, X, may_alias=False) is None
    assert STRUCTURE.writes_between(SECOND, INTO_X, X, may_alias=True) is INTO_Y


def test_regions_and_trips_of_an_operation() -> None:
    assert STRUCTURE.regions_of(SECOND) == (one_of(CAPTURED, ParallelOp), one_of(CAPTURED, SerialOp))
    assert STRUCTURE.trips_of(SECOND) == 5
    assert STRUCTURE.trips_of(FIRST) == 1


def test_the_arguments_that_a_view_must_not_share_memory_with() -> None:
    assert STRUCTURE.written_with(X) == {(0, 1)}
    assert STRUCTURE.written_with(Y) == {(1, 0)}


def test_the_operation_of_a_block_that_holds_another() -> None:
    body = one_of(CAPTURED, ParallelOp).body.block
    assert STRUCTURE.ancestor_in(SECOND, body) is one_of(CAPTURED, SerialOp)
    assert STRUCTURE.ancestor_in(FIRST, body) is FIRST
    assert STRUCTURE.ancestor_in(FIRST, one_of(CAPTURED, SerialOp).body.block) is None
