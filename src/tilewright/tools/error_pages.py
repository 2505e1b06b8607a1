"""Writes the reference of the error codes: one page a code, and the index.

    python -m tilewright.tools.error_pages GOLDENS OUT

GOLDENS is the folder with a rendered example a code (`TW203.txt`), OUT the folder of the pages, which then holds
nothing else.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from tilewright.core.codes import ALL, FAMILIES
from tilewright.core.diagnostics import Code

__all__ = ["pages", "prose"]

_SIGNS = re.compile(r"[\\*_<>\[\]{}#]")


def pages(goldens: Path) -> Mapping[str, str]:
    """File name to text of every page. Raises FileNotFoundError for a code without a rendered example in `goldens`."""
    found = {f"{name}.md": _page(code, (goldens / f"{name}.txt").read_text()) for name, code in ALL.items()}
    return {"index.md": _index(), **found}


def _page(code: Code, example: str) -> str:
    return f"""\
# {code.id}

{prose(code.message)}

**Why.** {prose(code.why)}

**What to do.** {prose(code.help)}

```text
{example.strip()}
```
"""


def _index() -> str:
    rows = ["# Errors", "", "A code names one cause. Names in braces are filled in when the error is raised.", ""]
    for family, module in FAMILIES.items():
        rows += [f"## {(module.__doc__ or module.__name__).splitlines()[0]}", ""]
        rows += [
            f"- [{code.id}]({code.id}.md): {prose(code.message)}" for code in ALL.values() if code.family == family
        ]
        rows += [""]
    rows += ["```{toctree}", ":hidden:", "", *ALL, "```", ""]
    return "\n".join(rows)


def prose(text: str) -> str:
    """The text as Markdown that shows it: code spans stay, every sign that Markdown would act on is escaped."""
    spans = " ".join(text.split()).split("`")
    spans[::2] = [_SIGNS.sub(r"\\\g<0>", span) for span in spans[::2]]
    return "`".join(spans)


def write(
    goldens: Annotated[Path, typer.Argument(exists=True, file_okay=False)],
    out: Annotated[Path, typer.Argument(file_okay=False)],
) -> None:
    """Write the page of every error code, and remove the pages of codes that are gone."""
    texts = pages(goldens)
    out.mkdir(parents=True, exist_ok=True)
    for stale in {path.name for path in out.glob("*.md")} - set(texts):
        (out / stale).unlink()
    for name, text in texts.items():
        (out / name).write_text(text)


if __name__ == "__main__":
    typer.run(write)
