"""`python -m benchmarks list | run | tirx | render`."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

from benchmarks.environment import commit, described, machine_name
from benchmarks.measuring import FULL, QUICK, Effort, is_measured_at, measure
from benchmarks.page import one_line, page
from benchmarks.plots import draw, pictures
from benchmarks.record import Measured, Run, merged, read, write
from benchmarks.rows import ROWS, TRIALS, Row
from benchmarks.rows.row import LIBRARIES
from benchmarks.session import ROOT, Session
from benchmarks.trials import trials_page

PAGES = ROOT / "docs" / "performance"
TIRX = PAGES / "tirx"
NOT_QUICK = ("torch.compile", "jax", "numba")


def main() -> int:
    """1 when an answer was wrong or a row failed. Times are printed and never judged here."""
    options = _parser().parse_args()
    return options.act(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    acts = parser.add_subparsers(required=True)
    listing = acts.add_parser("list", help="the rows and their bars")
    listing.set_defaults(act=_list, table=(*ROWS, *TRIALS))
    running = acts.add_parser("run", help="measure rows")
    running.set_defaults(act=_run, table=ROWS, folder=PAGES)
    trying = acts.add_parser("tirx", help="measure the options of the lowering TIRX, and it beside libraries")
    trying.set_defaults(act=_run, table=TRIALS, folder=TIRX)
    for each in (listing, running, trying):
        each.add_argument("--rows", default="*", help="patterns of names or groups, with commas between")
        each.add_argument("--quick", action="store_true", help="fewer rows, rounds and peers: less than five minutes")
    running.add_argument("--threads", default="1", help="numbers with commas between")
    running.add_argument("--peers", default="", help=f"of {', '.join(LIBRARIES)}; all by default")
    trying.set_defaults(threads="1", peers="numpy,torch")  # trials name their own
    for each, folder in ((running, PAGES), (trying, TIRX)):
        _measuring(each, folder)
    rendering = acts.add_parser("render", help="make the page and the plots from the JSON files, measuring nothing")
    rendering.add_argument("--folder", type=Path, default=PAGES)
    rendering.set_defaults(act=_render)
    return parser


def _measuring(parser: argparse.ArgumentParser, folder: Path) -> None:
    parser.add_argument("--rounds", type=int, default=0, help=f"at most; {FULL.rounds} by default")
    parser.add_argument("--out", type=Path, help="the JSON file; rows in it that are not measured again are kept")
    parser.add_argument("--publish", action="store_true", help=f"write into {folder.relative_to(ROOT)}, then render")
    parser.add_argument("--verbose", action="store_true", help="show what the measured libraries print")


def chosen(patterns: str, *, quick: bool, table: Sequence[Row] = ROWS) -> list[Row]:
    """The rows whose name or group fits a pattern."""
    wanted = patterns.split(",")
    fits = [row for row in table if any(fnmatch(row.name, p) or fnmatch(row.group, p) for p in wanted)]
    return [row for row in fits if row.quick or not quick]


def _list(options: argparse.Namespace) -> int:
    for row in chosen(options.rows, quick=options.quick, table=options.table):
        bars = ", ".join(f"{bar.limit:g}{'*' if bar.starred else ''}{bar.unit}" for bar in row.bars)
        print(f"{row.group:<22} {row.name:<44} {bars}")
    return 0


def _run(options: argparse.Namespace) -> int:
    rows = chosen(options.rows, quick=options.quick, table=options.table)
    effort = QUICK if options.quick else FULL
    if options.rounds:
        effort = replace(effort, rounds=options.rounds)
    usual = [name for name in LIBRARIES if not (options.quick and name in NOT_QUICK)]
    peers = options.peers.split(",") if options.peers else usual
    threads = [int(each) for each in options.threads.split(",")]
    usual_out = ROOT / "build" / f"{'benchmarks' if options.folder == PAGES else options.folder.name}.json"
    out = options.folder / f"{machine_name()}.json" if options.publish else options.out or usual_out
    with Session(verbose=options.verbose) as session:
        environment = described(threads, peers, session)
        for name, text in environment.items():
            print(f"{name:<18} {text}")
        found: list[Measured] = []
        for row in measured(rows, threads, peers, effort, session):
            found.append(row)
            write(merged(read(out) if out.exists() else None, Run(environment, (row,))), out)
    if options.publish:
        render(PAGES)
    wrong = [row.row for row in found if row.failed or row.error > 1]
    print(f"{len(found)} rows, in {out}; {len(wrong)} wrong or failed{': ' if wrong else ''}{', '.join(wrong)}")
    return 1 if wrong else 0


def measured(
    rows: Sequence[Row], threads: Sequence[int], peers: Sequence[str], effort: Effort, session: Session
) -> Iterator[Measured]:
    """Row by row, each printed when it is done."""
    state = commit()
    for count in threads:
        for row in rows:
            if is_measured_at(row, count, threads):
                found = replace(measure(row, count, peers, effort, session), commit=state)
                print(one_line(found), flush=True)
                yield found


def _render(options: argparse.Namespace) -> int:
    render(options.folder)
    return 0


def render(folder: Path) -> None:
    """The page of all JSON files of a folder, with its plots."""
    for path in sorted(folder.glob("*.json")):
        draw(read(path), folder, path.stem)
    (folder / "index.md").write_text(page_of(folder), encoding="utf-8")
    (folder / f"{TIRX.name}.md").write_text(trials_of(folder / TIRX.name), encoding="utf-8")


def page_of(folder: Path) -> str:
    """The page, with the plots that are there."""
    runs = {path.stem: read(path) for path in sorted(folder.glob("*.json"))}
    return page(runs, {name: pictures(run, folder, name) for name, run in runs.items()})


def trials_of(folder: Path) -> str:
    """The page of the trials that are kept there."""
    return trials_page({path.stem: read(path) for path in sorted(folder.glob("*.json"))})


if __name__ == "__main__":
    sys.exit(main())
