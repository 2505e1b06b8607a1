"""The keywords and the record are the same list."""

from dataclasses import fields

import pytest

from tilewright.compile.options import OptionFields, read_options
from tilewright.core.abi import CompileOptions
from tilewright.core.errors import UnsupportedError


def test_the_keywords_for_type_checkers_are_the_fields_of_the_record() -> None:
    assert list(OptionFields.__annotations__) == [field.name for field in fields(CompileOptions)]


def test_given_fields_replace_those_of_the_base() -> None:
    base = CompileOptions(fast_math=True, threads_per_group=4)
    assert read_options({"threads_per_group": 8}, base) == CompileOptions(fast_math=True, threads_per_group=8)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnsupportedError, match="lowering, threads_per_group, xir"):
        read_options({"opt_level": 3})
