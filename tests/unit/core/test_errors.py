import pickle

import pytest

from tilewright.core import errors
from tilewright.core.diagnostics import Code, Diagnostic, render
from tilewright.core.errors import (
    CapabilityError,
    CaptureError,
    DispatchError,
    EffectError,
    InternalError,
    KernelError,
    PlanError,
    TileTypeError,
    TilewrightError,
    ToolchainError,
    UnsupportedError,
    blame,
    during,
)
from tilewright.core.source import UNKNOWN, Span

HERE = Span("k.py", 3, 1, 3, 2)

FAMILY: dict[type[TilewrightError], int] = {
    CaptureError: 1,
    TileTypeError: 2,
    EffectError: 3,
    UnsupportedError: 4,
    PlanError: 4,
    CapabilityError: 4,
    ToolchainError: 5,
    DispatchError: 6,
    InternalError: 9,
}


def finding(family: int, span: Span = UNKNOWN) -> Diagnostic:
    return Code(100 * family + 99, "broken", why="because", help="mend it").at(span)


@pytest.mark.parametrize("exception", FAMILY)
@pytest.mark.parametrize("family", [1, 2, 3, 4, 5, 6, 9])
def test_an_exception_takes_its_own_family_only(exception: type[TilewrightError], family: int) -> None:
    if family == FAMILY[exception]:
        assert exception(finding(family)).diagnostic.code.family == family
        return
    with pytest.raises(InternalError, match="another family"):
        exception(finding(family))


def test_a_later_diagnostic_is_checked_too() -> None:
    with pytest.raises(InternalError, match="another family"):
        CaptureError(finding(1), finding(2))


def test_the_tree() -> None:
    assert [e for e in FAMILY if issubclass(e, KernelError)] == [CaptureError, TileTypeError, EffectError]
    assert [e for e in FAMILY if issubclass(e, UnsupportedError)] == [UnsupportedError, PlanError, CapabilityError]
    assert issubclass(TileTypeError, TypeError)
    assert all(name in errors.__all__ for name in (e.__name__ for e in FAMILY))


def test_the_text_is_the_rendering_of_every_diagnostic() -> None:
    first, second = finding(2), finding(2, HERE)
    error = TileTypeError(first, second)
    assert str(error) == f"{render(first)}\n\n{render(second)}"
    assert (error.diagnostic, error.diagnostics) == (first, (first, second))


def test_during_adds_lines_innermost_first() -> None:
    with pytest.raises(EffectError) as caught, during("compiling k"), during("lowering tile.mma"):
        raise EffectError(finding(3), finding(3))
    assert [d.context for d in caught.value.diagnostics] == [("lowering tile.mma", "compiling k")] * 2


def test_blame_fills_only_unknown_places() -> None:
    elsewhere = Span("other.py", 9, 1, 9, 2)
    with pytest.raises(EffectError) as caught, blame(HERE):
        raise EffectError(finding(3), finding(3, elsewhere))
    assert [d.span for d in caught.value.diagnostics] == [HERE, elsewhere]


def test_other_exceptions_pass_untouched() -> None:
    with pytest.raises(KeyError) as caught, blame(HERE), during("compiling k"):
        raise KeyError("x")
    assert caught.value.args == ("x",)


def test_an_internal_error_names_its_pass_and_reproducer() -> None:
    error = InternalError(finding(9), pass_name="fold-constants", reproducer="/tmp/k.tile")
    assert "= note: pass: fold-constants" in str(error)
    assert "= note: reproducer: /tmp/k.tile" in str(error)
    assert "note" not in str(InternalError(finding(9)))


def test_errors_cross_processes_whole() -> None:
    plan = PlanError(finding(4, HERE), rejections=["too many lanes"])
    tool = ToolchainError(finding(5), command="opt", log="no", artifact="k.ll")
    internal = InternalError(finding(9), pass_name="p")
    for error in (plan, tool, internal):
        copy = pickle.loads(pickle.dumps(error))
        assert (str(copy), vars(copy)) == (str(error), vars(error))
