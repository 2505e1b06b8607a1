import struct

import numpy as np
import pytest

from tests.unit.backends.llvm.run import run
from tilewright.backends.llvm.text import Function
from tilewright.backends.llvm.types import BFLOAT, DOUBLE, FLOAT, HALF, I1, I8, I32, I64, PTR, Type, vector
from tilewright.backends.llvm.values import Value, booleans, constant, float_bits, integers, zero
from tilewright.core.errors import InternalError

PATTERNS = {
    FLOAT: (0, 1 << 31, 1, 0x0080_0000, 0x3DCC_CCCD, 0x7F7F_FFFF, 0x7F80_0000, 0x7FC0_0001, 0xFFC0_0000, 0x7F80_0001),
    DOUBLE: (0, 1 << 63, 1, 0x3FB9_9999_9999_999A, 0x7FF0_0000_0000_0000, 0x7FF8_0000_0000_0001, 0x7FF0_0000_0000_0001),
    HALF: (0, 0x8000, 1, 0x3C00, 0x7BFF, 0x7C00, 0x7E01, 0x7D01),
    BFLOAT: (0, 0x8000, 1, 0x3F80, 0x7F7F, 0x7F80, 0x7FC1, 0x7FA1),
}
CASES = [(element, bits) for element, patterns in PATTERNS.items() for bits in patterns]


@pytest.mark.parametrize(("element", "bits"), CASES, ids=str)
@pytest.mark.parametrize("lanes", [0, 4])
def test_float_constants_keep_every_bit(element: Type, bits: int, lanes: int) -> None:
    wanted = float_bits(vector(element, lanes) if lanes else element, bits)
    out = np.zeros(max(1, lanes) * element.bits // 8, np.uint8)
    run(lambda f: f.store(wanted, f.argument("out")), out)
    assert out.tobytes() == bits.to_bytes(element.bits // 8, "little") * max(1, lanes)


@pytest.mark.parametrize("value", [0.1, -0.0, 1e-45, 3.4e38, float("inf"), 1e300, -1e300])
def test_floats_round_to_nearest_into_their_type(value: float) -> None:
    out = np.zeros(1, np.float32)
    run(lambda f: f.store(constant(FLOAT, value), f.argument("out")), out)
    with np.errstate(over="ignore"):
        assert out.tobytes() == np.float32(value).tobytes()


def test_a_value_that_is_no_bfloat_is_refused() -> None:
    assert constant(BFLOAT, 1.5).ref == "0xR3FC0"
    with pytest.raises(InternalError, match="no bfloat"):
        constant(BFLOAT, 0.1)


@pytest.mark.parametrize(
    ("type", "value", "ref"),
    [
        (I8, 255, "-1"),
        (I8, -129, "127"),
        (I64, 1 << 63, str(-(1 << 63))),
        (I1, 1, "true"),
        (vector(I32, 2), 5, "splat (i32 5)"),
    ],
)
def test_integers_wrap_into_their_width(type: Type, value: int, ref: str) -> None:
    assert constant(type, value).ref == ref


def test_vectors_of_constants() -> None:
    out = np.zeros(4, np.int32)

    def body(f: Function) -> None:
        chosen = f.select(booleans([True, False, True, False]), integers(I32, [7, 8, 9, 10]), zero(vector(I32, 4)))
        f.store(chosen, f.argument("out"))

    run(body, out)
    assert out.tolist() == [7, 0, 9, 0]


def test_no_numeric_constant_of_a_pointer() -> None:
    with pytest.raises(InternalError):
        constant(PTR, 0)
    with pytest.raises(InternalError):
        float_bits(I32, 0)


def test_types_are_interned_and_values_show_themselves() -> None:
    assert vector(FLOAT, 8) is vector(FLOAT, 8)
    assert str(Value(vector(FLOAT, 8), "%x")) == "<8 x float> %x"
    assert struct.calcsize("f") == FLOAT.size_bytes
