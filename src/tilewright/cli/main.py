"""The command `tilewright`, also `python -m tilewright.cli`. Each subcommand is one file."""

import typer

from .cache import cache
from .explain import explain
from .machine import machine

__all__ = ["app"]

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Tile kernels in Python.")
app.command()(explain)
app.command()(machine)
app.add_typer(cache, name="cache")
