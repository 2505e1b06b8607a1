"""The mutator itself: it finds what it should, and what it plants is Python."""

import ast
from pathlib import Path

from tests.mutation.run import ROOT, TESTS, all_sites, drawn
from tests.mutation.sites import planted, sites_of

SITES = all_sites()
SAMPLE = """
def rule(cx, op, n, extent):
    with cx.loop(0, n, 1) as loop:
        value = cx.load(op, mask=op.mask, passthru=op.fill)
        loop.yield_(cx.truncf(value))
    return value if n < extent - 1 else cx.extui(value)
"""


def test_every_kind_has_sites_in_every_table() -> None:
    assert {site.kind for site in SITES} == {"guard", "yield", "fill", "tail", "cast"}
    assert len(SITES) > 150
    assert all(any(f"/{table}/" in site.file for site in SITES) for table in TESTS)


def test_a_sample_has_one_fault_for_each_thing_in_it(tmp_path: Path) -> None:
    path = tmp_path / "sample.py"
    path.write_text(SAMPLE)
    found = {(site.kind, site.before, site.after) for site in sites_of(path, "sample.py")}
    assert found == {
        ("guard", "op.mask", "None"),
        ("fill", "op.fill", "None"),
        ("yield", "cx.truncf(value)", "loop.carries"),
        ("cast", "cx.truncf(value)", "value"),
        ("tail", "n < extent - 1", "n <= extent - 1"),
        ("tail", "extent - 1", "extent"),
        ("cast", "cx.extui", "cx.extsi"),
    }


def test_what_is_planted_is_python() -> None:
    for site in SITES:
        text = (ROOT / site.file).read_text()
        changed = planted(text, site)
        assert changed != text
        ast.parse(changed)


def test_the_draw_is_fixed_and_of_all_kinds() -> None:
    chosen = drawn(SITES, 30, 2024)
    assert chosen == drawn(SITES, 30, 2024)
    assert len(set(chosen)) == 30
    assert {site.kind for site in chosen} == {"guard", "yield", "fill", "tail", "cast"}


def test_sites_that_say_something_else_change_nothing_in_the_draw() -> None:
    chosen = drawn(SITES, 30, 2024)
    said = {(site.file, site.before, site.after) for site in chosen}
    fewer = [site for site in SITES if (site.file, site.before, site.after) in said]
    assert set(drawn(fewer, 30, 2024)) == set(chosen)
