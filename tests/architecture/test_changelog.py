"""Every change that a user can see leaves a fragment; changelog.d/README.md says how."""

import re

from tests.architecture.house import ROOT

KINDS = ("added", "changed", "fixed", "removed")
FRAGMENT = re.compile(rf"[a-z0-9-]+\.({'|'.join(KINDS)})\.md")


def test_every_fragment_has_a_kind_and_says_something() -> None:
    fragments = [path for path in (ROOT / "changelog.d").iterdir() if path.name != "README.md"]
    assert [path.name for path in fragments if not FRAGMENT.fullmatch(path.name)] == []
    assert [path.name for path in fragments if not path.read_text().strip()] == []
