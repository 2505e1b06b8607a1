"""Common subexpressions: computed once where that cannot trap, and left alone where it could."""

from collections.abc import Callable
from typing import Any

import pytest

from tilewright.bridge.tirx.door import open_door
from tilewright.bridge.tirx.merging import merge_pass, mergeable
from tilewright.bridge.tirx.nodes import Nodes

Value = Callable[[Nodes, Any], Any]


def merged(value: Value) -> tuple[str, tuple[str, ...]]:
    """A loop over i that stores `value(nodes, i)`, after the pass, and why it did not run."""
    n = Nodes(open_door())
    x, i = n.buffer("x", "float32", [64], alignment=4), n.var("i", "int64")
    loop = n.for_(i, 16, n.store(x, value(n, i), [i]), {})
    found = mergeable(n.door, n.function("main", [x], loop, {}))
    return str(merge_pass(n.door)(n.door.tvm.IRModule({"main": found.function}))), found.declined


def squared(n: Nodes, i: Any) -> Any:
    wide = n.add(n.mul(i, n.i64(3)), n.i64(1))
    return n.cast("float32", n.mul(wide, wide))


def signed_zeros(n: Nodes, i: Any) -> Any:
    """Both products are used once: they are different floats."""
    x = n.cast("float32", i)
    return n.add(n.mul(x, n.float_("float32", 0.0)), n.mul(x, n.float_("float32", -0.0)))


def guarded_division(n: Nodes, i: Any) -> Any:
    part = n.div(n.i64(9), i)
    return n.lazily(n.lt(n.i64(0), i), n.cast("float32", n.add(part, part)), n.float_("float32", 1.0))


def division_by_three(n: Nodes, i: Any) -> Any:
    part = n.floordiv(i, n.i64(3))
    return n.cast("float32", n.add(part, part))


@pytest.mark.parametrize(
    ("value", "names", "declined"),
    [(squared, 1, 0), (signed_zeros, 1, 0), (division_by_three, 1, 0), (guarded_division, 0, 1)],
)
def test_a_value_is_named_where_it_may_be_computed_early(value: Value, names: int, declined: int) -> None:
    text, reasons = merged(value)
    assert text.count(": T.let[") == names
    assert len(reasons) == declined
    assert "tile.merge" not in text


def test_signed_zeros_stay_apart() -> None:
    text, _ = merged(signed_zeros)
    assert "T.float32(0.0)" in text
    assert "T.float32(-0.0)" in text
