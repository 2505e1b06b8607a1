"""What scalar arithmetic cannot answer. Callers that know a place turn these into diagnostics."""

from ..core.dtypes import DType

__all__ = ["ArithmeticFault", "DivisionByZeroError", "UndefinedOperationError"]


class ArithmeticFault(ArithmeticError):  # noqa: N818  the base is caught, never raised
    """Base of the two faults below."""


class DivisionByZeroError(ArithmeticFault):
    """An integer division by zero; `position` is the index of the first offending element."""

    def __init__(self, op: str, position: tuple[int, ...]) -> None:
        super().__init__(op, position)
        self.op, self.position = op, position

    def __str__(self) -> str:
        return f"{self.op} divides by zero at element {self.position}"


class UndefinedOperationError(ArithmeticFault):
    """An operation that has no meaning for the element type, such as arithmetic on float8."""

    def __init__(self, op: str, dtype: type[DType]) -> None:
        super().__init__(op, dtype)
        self.op, self.dtype = op, dtype

    def __str__(self) -> str:
        return f"{self.op} is not defined for {self.dtype!r}"
