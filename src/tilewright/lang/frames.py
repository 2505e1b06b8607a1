"""The variables of running Python functions."""

import inspect
from collections.abc import Mapping
from types import FunctionType

__all__ = ["caller_variables", "variables_around"]


def caller_variables() -> Mapping[str, object]:
    """The variables of the function that called the caller of this one."""
    frame = inspect.currentframe()
    for _ in range(2):
        frame = None if frame is None else frame.f_back
    return {} if frame is None else frame.f_locals


def variables_around(function: FunctionType) -> Mapping[str, object]:
    """The variables of the innermost running function of the same file: where the `def` of `function` stands."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename != function.__code__.co_filename:
        frame = frame.f_back
    return {} if frame is None else dict(frame.f_locals)
