"""The gallery, cases and random kernels under every plan family: right, or refused with a code.

`make test` takes a part of each, another one for every family; `make test-all` takes all.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import count, islice

import pytest

from examples.gallery import ENTRIES
from examples.gallery.entry import Array
from tests.cases.client import RouteProcess
from tests.cases.outcome import passes
from tests.cases.table import load_cases
from tests.differential.families import FAMILIES
from tests.differential.gallery.test_gallery import launched
from tests.random.batch import refusal_of, run, run_apart
from tests.random.choices import Choices
from tests.random.generator import program
from tilewright.backends.llvm.kernel import compile_kernel
from tilewright.core.abi import CompileOptions
from tilewright.core.errors import UnsupportedError
from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.tiles import MmaOp

THREADS = 2
RANDOM = 2
RANDOM_OF_ALL = 500
FIRST = 3_000_000  # where no other test of random kernels is


@cache
def captured(name: str) -> Kernel:
    return ENTRIES[name].capture()


@cache
def products() -> list[str]:
    return [name for name in ENTRIES if any(isinstance(op, MmaOp) for op in captured(name).op.walk())]


@cache
def computed(name: str, family: str | None) -> list[Array]:
    """The results of two launches, each within its bound."""
    options = CompileOptions(xir=None if family is None else FAMILIES[family].options)
    return launched(ENTRIES[name], compile_kernel(captured(name), options, threads=THREADS), THREADS)


def refused(family: str, names: Iterable[str]) -> dict[str, str]:
    """The kernels that the family refuses, with the reason; all others are right."""
    found: dict[str, str] = {}
    for name in names:
        try:
            results = computed(name, family)
        except UnsupportedError as error:
            found[name] = f"{error.diagnostic.code.id}: {error.diagnostic.message}"
            continue
        if FAMILIES[family].exact:
            pairs = zip(results, computed(name, None), strict=True)
            assert all(a.tobytes() == b.tobytes() for a, b in pairs), name
    return found


def tell(capsys: pytest.CaptureFixture[str], family: str, tried: int, reasons: Iterable[str]) -> None:
    """Prints how many were refused and why. None of all of them may be admitted by no family."""
    counted = Counter(reasons)
    with capsys.disabled():
        sys.stdout.write(f"\n{family}: {counted.total()} of {tried} refused\n")
        sys.stdout.writelines(f"  {number} {reason}\n" for reason, number in counted.items())
    assert counted.total() < tried


def alike(family: str) -> list[str]:
    """The families that share the gallery in `make test`, so that each of its kernels meets one of them."""
    return [name for name in FAMILIES if FAMILIES[name].products == FAMILIES[family].products]


@pytest.mark.parametrize("family", FAMILIES)
def test_some_of_the_gallery(family: str) -> None:
    whole = products() if FAMILIES[family].products else list(ENTRIES)
    sharing = alike(family)
    names = whole[sharing.index(family) :: len(sharing)]
    assert len(refused(family, names)) < len(names)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_the_gallery(family: str, capsys: pytest.CaptureFixture[str]) -> None:
    tell(capsys, family, len(ENTRIES), refused(family, ENTRIES).values())


def about(family: str) -> Iterator[int]:
    """Random kernels of the family's own; where it is about products, those that have one."""
    for seed in count(FIRST + RANDOM_OF_ALL * list(FAMILIES).index(family)):
        if not FAMILIES[family].products or program(Choices(seed)).traits["mma"]:
            yield seed


@pytest.mark.parametrize("family", FAMILIES)
def test_some_random_kernels(family: str) -> None:
    seeds = list(islice(about(family), RANDOM))
    failures, _ = run(seeds, launches=1, xir=FAMILIES[family].options)
    refusals = {seed: found for seed, found in failures.items() if refusal_of(found)}
    assert failures == refusals
    assert len(refusals) < len(seeds), refusals


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_random_kernels(family: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same ones for all families, so that a failure of one family only is seen as that."""
    failures = run_apart(FIRST, RANDOM_OF_ALL, family)["failures"]
    refusals = [refusal_of(found) for found in failures.values() if refusal_of(found)]
    tell(capsys, family, RANDOM_OF_ALL, refusals)
    assert {seed: found for seed, found in failures.items() if not refusal_of(found)} == {}


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_cases(family: str, capsys: pytest.CaptureFixture[str]) -> None:
    """All public bug reports that fit into ordinary memory."""
    cases = [case for case in load_cases().values() if not case.large]
    with RouteProcess(f"cpu{THREADS}", family) as process:
        outcomes = {case.name: process.outcome(case) for case in cases}
    missed = {case.name: outcomes[case.name] for case in cases if not passes(case, outcomes[case.name])}
    refusals = {name: str(found) for name, found in missed.items() if found.word == "REFUSED"}
    tell(capsys, family, len(cases), refusals.values())
    assert {name: f"{found}\n{found.detail}" for name, found in missed.items() if name not in refusals} == {}
