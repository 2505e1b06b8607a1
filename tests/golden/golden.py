"""Golden texts that lie beside their test."""

from pathlib import Path


def check_text(path: Path, text: str, *, accept: bool) -> None:
    """Compares `text` with the file, or writes it when a run accepts golden texts."""
    if accept:
        path.write_text(text, encoding="utf-8")
        return
    assert path.exists(), f"no golden {path.name} yet (make golden-accept):\n{text}"
    assert text == path.read_text(encoding="utf-8")
