"""Prints one exact pin for each package that a working checkout needs: what we depend on, the extras `tirx` and
`cblas`, which the tests run, and the group `dev`. The extra `bench` is not in it: it adds peers to measure.
"""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = "# Made by `make lock` from pyproject.toml. Do not edit."


def wanted() -> list[str]:
    """The requirements that pyproject.toml states."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    metadata = project["project"]
    extras = [each for extra in ("tirx", "cblas") for each in metadata["optional-dependencies"][extra]]
    return [*metadata["dependencies"], *extras, *project["dependency-groups"]["dev"]]


def resolve(requirements: list[str]) -> list[str]:
    """Asks pip's resolver, installing nothing. Raises CalledProcessError when there is no solution."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-"]
    answer = subprocess.run([*command, *requirements], check=True, stdout=subprocess.PIPE)
    found = [entry["metadata"] for entry in json.loads(answer.stdout)["install"]]
    return sorted((f"{entry['name']}=={entry['version']}" for entry in found), key=str.lower)


if __name__ == "__main__":
    sys.stdout.write("\n".join([HEADER, *resolve(wanted())]) + "\n")
