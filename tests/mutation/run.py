"""Plants faults in the rule tables, one at a time, and runs the tests that should see them: `make mutants`.

`python -m tests.mutation.run [--list] [--count N] [--seed S] [--part I/N] [--jobs J] [--remember] [WORD]` draws N of
the sites (of those that contain WORD), changes a copy of the sources, and runs the fast tests of that part until one
fails. It prints who caught each fault, and the survivors; the exit status counts them. `--part 2/3` takes the second
third of the draw. `--remember` writes who caught what to `caught.json`: those tests are asked first.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from tests.mutation.sites import Site, planted, sites_of
from tilewright.core.digest import digest

__all__ = ["RULE_TABLES", "TESTS", "all_sites", "drawn"]

ROOT = Path(__file__).resolve().parents[2]
SOURCES = Path("src/tilewright")
RULE_TABLES = ("bridge/xir/lower", "xir/passes", "backends/llvm/emit", "interp")
ROUTE = (
    "tests/differential/test_xir_route.py", "tests/differential/test_control.py", "tests/unit/bridge",
    "tests/unit/xir/passes", "tests/cases", "tests/random", "tests/differential",
)  # fmt: skip
TESTS = {
    "bridge/xir/lower": ROUTE,
    "xir/passes": ("tests/unit/xir", "tests/golden/xir", *ROUTE),
    "backends/llvm/emit": ("tests/unit/backends/llvm", *ROUTE),
    "interp": ("tests/unit/interp", "tests/differential/interp_cases", "tests/differential/interp_gallery", *ROUTE),
}
CAUGHT = Path(__file__).with_name("caught.json")
_ENDED = (-signal.SIGTERM, -signal.SIGKILL, -signal.SIGINT)
COUNT, SEED, TIMEOUT_S = 30, 2024, 900


def all_sites(root: Path = ROOT) -> list[Site]:
    """Every site of every rule table."""
    found: list[Site] = []
    for table in RULE_TABLES:
        for path in sorted((root / SOURCES / table).rglob("*.py")):
            found += sites_of(path, str(path.relative_to(root)))
    return found


def drawn(sites: list[Site], count: int, seed: int) -> list[Site]:
    """As many of each kind as fit, by a fixed seed. What a site says decides, not where: another site moves none."""
    kinds: dict[str, list[tuple[str, Site]]] = {}
    seen: Counter[str] = Counter()
    for site in sites:
        seen[site.text] += 1
        kinds.setdefault(site.kind, []).append((digest(seed, site.text, seen[site.text]), site))
    piles = [[site for _, site in sorted(each, key=lambda pair: pair[0])] for _, each in sorted(kinds.items())]
    chosen: list[Site] = []
    while len(chosen) < min(count, len(sites)):
        for pile in piles:
            if pile and len(chosen) < count:
                chosen.append(pile.pop())
    return chosen


def _copied(root: Path, copy: Path) -> None:
    for name in ("src", "tests", "examples"):
        shutil.copytree(root / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("docs", "pyproject.toml", ".venv"):
        (copy / name).symlink_to(ROOT / name)


def verdict(root: Path, site: Site) -> str:
    """The first test that fails with the fault in a copy of `root`, and passes in `root`; or nothing."""
    with tempfile.TemporaryDirectory(prefix="tilewright-mutant-") as folder:
        copy = Path(folder)
        _copied(root, copy)
        changed = copy / site.file
        changed.write_text(planted(changed.read_text(), site))
        usual = next(each for table, each in TESTS.items() if f"/{table}/" in site.file)
        tests = (*remembered().get(site.text, ()), *usual)
        return next((found for each in tests if (found := _caught(root, copy, each))), "")


def remembered() -> dict[str, list[str]]:
    """Which tests caught a fault before, by its text."""
    found: dict[str, list[str]] = json.loads(CAUGHT.read_text())
    return found


def _remember(verdicts: Mapping[Site, str]) -> None:
    there = {site.text for site in all_sites()}
    known = {text: tests for text, tests in remembered().items() if text in there}
    for site, test in verdicts.items():
        if test and test not in known.setdefault(site.text, []):
            known[site.text].append(test)
    CAUGHT.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")


def _caught(root: Path, copy: Path, tests: str) -> str:
    """A failure that is the fault's. What fails in `root` too is left out from then on."""
    left_out: list[str] = []
    while (root / tests.partition("::")[0]).exists():
        failed = _failing(copy, tests, *(f"--deselect={each}" for each in left_out))
        again = failed if "::" in failed else tests
        if not failed or not _failing(root, again):
            return failed
        if again == tests:
            return ""
        left_out.append(failed)
    return ""


def _failing(where: Path, *tests: str) -> str:
    """The first test that fails in a checkout."""
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join([str(where / "src"), str(where)])}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-m",
        "not slow",
        "-p",
        "no:cacheprovider",
        "--tb=no",
        *tests,
    ]
    try:
        done = subprocess.run(
            command, cwd=where, env=settings, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"{tests[0]} does not end"
    if done.returncode in (0, 5):
        return ""
    if done.returncode in _ENDED:
        raise RuntimeError(f"{tests[0]} was ended from outside")
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split(" - ")[0].split(" ", maxsplit=1)[1] if failed else f"{tests[0]} ends with {done.returncode}"


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    """The number of survivors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("word", nargs="?", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--remember", action="store_true")
    parser.add_argument("--part", type=_part, default=(1, 1))
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tilewright-mutants-") as folder:
        base = Path(folder)  # sources that change meanwhile would be caught, too
        _copied(ROOT, base)
        sites = [site for site in all_sites(base) if options.word in str(site)]
        _say(f"{len(sites)} sites: {dict(Counter(site.kind for site in sites))}")
        if options.list:
            _say("\n".join(map(str, sites)))
            return 0
        part, parts = options.part
        verdicts = _judged(base, drawn(sites, options.count, options.seed)[part - 1 :: parts], options.jobs)
    if options.remember:
        _remember(verdicts)
    survivors = [site for site, test in verdicts.items() if not test]
    _say(f"{len(verdicts) - len(survivors)} of {len(verdicts)} faults were caught")
    _say("\n".join(f"survivor: {site}" for site in survivors) or "no survivor")
    return len(survivors)


def _part(text: str) -> tuple[int, int]:
    """`I/N`, I from 1 to N."""
    part, _, parts = text.partition("/")
    if not 1 <= int(part) <= int(parts):
        raise ValueError(text)
    return int(part), int(parts)


def _judged(base: Path, chosen: list[Site], jobs: int) -> dict[Site, str]:
    """Who caught each fault."""
    found: dict[Site, str] = {}
    with ThreadPoolExecutor(jobs) as pool:
        verdicts = {pool.submit(verdict, base, site): site for site in chosen}
        for done in as_completed(verdicts):
            site = verdicts[done]
            found[site] = done.result()
            _say(f"{site}\n    {found[site] or 'SURVIVED'}")
    return found


if __name__ == "__main__":
    sys.exit(main())
