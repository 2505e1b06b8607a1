"""`tilewright explain TW203`: what an error code means, without leaving the terminal."""

from textwrap import fill
from typing import Annotated

import typer

from tilewright.core.codes import ALL, FAMILIES
from tilewright.core.diagnostics import Code

__all__ = ["explain", "page"]

_WIDTH = 96


def explain(code: Annotated[str, typer.Argument(help="a code as errors print it: TW203, or 203")]) -> None:
    """Say what an error code means, why the rule exists and what to do."""
    name = f"TW{code.upper().removeprefix('TW')}"
    if name not in ALL:
        raise typer.BadParameter(f"there is no code {name}; the last of each family are {', '.join(_last_codes())}")
    typer.echo(page(ALL[name]))


def _last_codes() -> list[str]:
    return [max(name for name, code in ALL.items() if code.family == family) for family in FAMILIES]


def page(code: Code) -> str:
    """The facts of a code as text. Names in braces are filled in when the error is raised."""
    family = (FAMILIES[code.family].__doc__ or "").strip().rstrip(".")
    rows = [code.id, "", _filled("", code.message), "", _filled("why:  ", code.why), _filled("help: ", code.help)]
    return "\n".join([*rows, "", family])


def _filled(label: str, text: str) -> str:
    return fill(text, _WIDTH, initial_indent=label, subsequent_indent=" " * len(label))
