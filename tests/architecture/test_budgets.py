"""Files and functions stay small enough to be read at one sitting, and are named after what they do."""

from pathlib import Path

from tests.architecture.house import PACKAGE, functions, length, python_files, shown

FILE_LINES = 500
FUNCTION_LINES = 60
FUNCTION_LINES_P90 = 25
BANNED_MODULES = ("util", "utils", "helper", "helpers", "common", "manager", "managers", "misc")
BANNED_MODULE_PREFIXES = ("new_", "old_")
BANNED_FUNCTION_PREFIXES = ("do_", "new_", "try_")


def named(path: Path, node_name: str, line: int) -> str:
    return f"{shown(path)}:{line} {node_name}"


def test_no_file_is_longer_than_its_budget() -> None:
    lengths = {shown(path): len(path.read_text().splitlines()) for path in python_files()}
    assert {name: lines for name, lines in lengths.items() if lines > FILE_LINES} == {}


def test_no_function_is_longer_than_its_budget() -> None:
    found = {
        named(path, node.name, node.lineno): length(node)
        for path in python_files()
        for node in functions(path)
        if length(node) > FUNCTION_LINES
    }
    assert found == {}


def test_nine_functions_in_ten_are_short() -> None:
    lengths = sorted(length(node) for path in python_files("src") for node in functions(path))
    assert lengths[len(lengths) * 9 // 10] <= FUNCTION_LINES_P90


def test_no_module_is_named_after_nothing() -> None:
    names = {shown(path): {path.stem, path.parent.name} for path in python_files()}
    found = [
        name
        for name, parts in names.items()
        if parts & set(BANNED_MODULES) or any(part.startswith(BANNED_MODULE_PREFIXES) for part in parts)
    ]
    assert found == []


def test_no_function_says_only_that_it_does_something() -> None:
    found = [
        named(path, node.name, node.lineno)
        for path in python_files("src")
        for node in functions(path)
        if node.name.startswith(BANNED_FUNCTION_PREFIXES)
    ]
    assert found == []


def test_every_folder_of_the_package_says_what_it_is() -> None:
    """One line at least in each `__init__.py`, so that the map of the house is the source itself."""
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    silent = [shown(folder) for folder in sorted(folders) if not _first_line(folder / "__init__.py")]
    assert silent == []


def _first_line(path: Path) -> str:
    return path.read_text().splitlines()[0] if path.exists() and path.read_text().startswith('"""') else ""
