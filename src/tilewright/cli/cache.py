"""`tilewright cache`: where compiled kernels are kept, how many there are, and how to be rid of them."""

import typer

from tilewright.backends.llvm.cache import CodeCache, code_cache

__all__ = ["cache"]

cache = typer.Typer(help="Show, prune or clear the compiled kernels on disk.")


@cache.callback(invoke_without_command=True)
def show(context: typer.Context) -> None:
    """Show the folder, and the number and bytes of its kernels."""
    if context.invoked_subcommand is None:
        typer.echo(_summary(code_cache()))


@cache.command()
def clear() -> None:
    """Remove every compiled kernel."""
    _report(code_cache(), code_cache().clear())


@cache.command()
def prune() -> None:
    """Remove the least recently used kernels past the limit, and what interrupted processes left."""
    _report(code_cache(), code_cache().prune())


def _report(found: CodeCache, gone: int) -> None:
    typer.echo(f"removed  {gone}")
    typer.echo(_summary(found))


def _summary(found: CodeCache) -> str:
    files = found.files()
    used = sum(size for _, size, _ in files)
    return f"folder   {found.folder}\nkernels  {len(files)}\nbytes    {used} of at most {found.limit_bytes}"
