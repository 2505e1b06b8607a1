from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest

from tilewright.core.dtypes import ALL_DTYPES, DType, FloatType, IntType
from tilewright.core.errors import TileTypeError
from tilewright.numerics.arrays import from_numpy, numpy_dtype

FLOATS = [dtype for dtype in ALL_DTYPES if issubclass(dtype, FloatType)]
INTS = [dtype for dtype in ALL_DTYPES if issubclass(dtype, IntType)]


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_the_numpy_dtype_leads_back(dtype: type[DType]) -> None:
    assert from_numpy(numpy_dtype(dtype)) is dtype
    assert numpy_dtype(dtype).itemsize == dtype.itemsize


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_facts_are_those_of_the_numpy_dtype(dtype: type[FloatType]) -> None:
    facts = cast("Any", ml_dtypes).finfo(numpy_dtype(dtype))
    assert dtype.max == float(facts.max)
    assert dtype.min == float(facts.min)
    assert dtype.eps == float(facts.eps)
    assert dtype.smallest_normal == float(facts.smallest_normal)
    assert dtype.smallest_subnormal == float(facts.smallest_subnormal)
    assert (dtype.bits, dtype.mantissa_bits) == (facts.bits, facts.nmant)


@pytest.mark.parametrize("dtype", INTS)
def test_integer_facts_are_those_of_the_numpy_dtype(dtype: type[IntType]) -> None:
    facts = np.iinfo(numpy_dtype(dtype))
    assert (dtype.min, dtype.max, dtype.bits) == (facts.min, facts.max, facts.bits)


@pytest.mark.parametrize("text", [">f4", ">i8", "c8", "U4", "O", "M8[s]"])
def test_other_numpy_dtypes_are_refused(text: str) -> None:
    with pytest.raises(TileTypeError):
        from_numpy(np.dtype(text))
