"""`tilewright machine`: what plans know of this machine, and where its measured figures are kept."""

from typing import Annotated

import typer

from tilewright.backends.llvm.cache import code_cache
from tilewright.backends.llvm.machine import read_machine
from tilewright.backends.llvm.timings import kept_timings, timings_path

__all__ = ["machine"]


def machine(*, again: Annotated[bool, typer.Option("--again", help="Measure anew.")] = False) -> None:
    """Show the processor, its caches, and what its steps take."""
    found = read_machine()
    folder = code_cache().folder
    path = timings_path(found, folder)
    if again:
        path.unlink(missing_ok=True)
    sizes = (found.l1_bytes, found.l2_bytes, found.l3_bytes)
    typer.echo(f"machine  {found.name}, {found.cores} cores")
    typer.echo(f"caches   {', '.join(f'L{level} {size >> 10} KiB' for level, size in enumerate(sizes, 1))}")
    typer.echo(f"figures  {kept_timings(found, folder)}")
    typer.echo(f"file     {path}")
