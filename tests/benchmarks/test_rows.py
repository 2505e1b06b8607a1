"""The table: every row's kernel gives the right answer at a small size, and NumPy does the same job."""

from collections.abc import Iterator

import pytest

from benchmarks.contestants import Arguments, arguments, ours, require_same_job, through_tvm, worst_error
from benchmarks.peers import open_peer
from benchmarks.rows import BY_NAME, MEANS, ROWS, TRIALS, Alike, Artifact, Cost, Race
from benchmarks.rows.row import LIBRARIES
from examples.gallery.entry import Entry

RACES = [row for row in ROWS if isinstance(row, Race)]
JOBS = {row.job: row for row in reversed(RACES)}
NUMPY = open_peer("numpy")


def variants() -> Iterator[tuple[str, Entry]]:
    seen: set[object] = set()
    for row in ROWS:
        if isinstance(row, Alike):
            for name, entry in row.small.items():
                key = entry.kernel.name, tuple(entry.config.items()), tuple(each.shape for each in entry.results)
                if key not in seen:
                    seen.add(key)
                    yield f"{row.name}: {name}", entry


VARIANTS = dict(variants())


def run(entry: Entry) -> Arguments:
    given = arguments(entry)
    assert ours(entry, given).error <= 1
    return given


@pytest.mark.parametrize("job", JOBS)
def test_our_kernel_is_right_and_numpy_does_the_same(job: str) -> None:
    given = run(JOBS[job].small)
    if job in NUMPY.jobs:
        prepared = NUMPY.prepare(job, given.inputs, [each.copy() for each in given.results], 1)
        require_same_job(NUMPY.arrays(prepared()), given.answers)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_of_ours_is_right(name: str) -> None:
    run(VARIANTS[name])


def artifacts() -> Iterator[tuple[str, Entry, Artifact]]:
    seen: list[object] = []
    for trial in TRIALS:
        for name, artifact in trial.ours.items():
            key = trial.small.kernel.name, dict(trial.small.config), artifact
            if key not in seen:
                seen.append(key)
                yield f"{trial.name}: {name}", trial.small, artifact


ARTIFACTS = {name: (entry, artifact) for name, entry, artifact in artifacts()}


@pytest.mark.parametrize("name", ARTIFACTS)
def test_every_artifact_of_a_trial_is_right(name: str) -> None:
    entry, artifact = ARTIFACTS[name]
    assert through_tvm(entry, artifact, arguments(entry)).error <= 1


def test_trials_have_names_and_jobs_of_their_own() -> None:
    assert len({trial.name for trial in TRIALS}) == len(TRIALS)
    assert all(len(trial.contestants) == 3 for trial in TRIALS)
    assert {trial.job for trial in TRIALS if "numpy" in trial.others} <= set(NUMPY.jobs)


def test_a_wrong_element_is_seen() -> None:
    given = run(JOBS["softmax"].small)
    given.results[0][3, 4] += 1e-3
    assert worst_error(given.results, given.answers) > 1
    with pytest.raises(ArithmeticError, match="another"):
        require_same_job([given.results[0] + 1], given.answers)


def test_small_and_measured_entries_are_the_same_program() -> None:
    pairs = [(row.entry, row.small) for row in RACES]
    pairs += [(row.entries[name], small) for row in ROWS if isinstance(row, Alike)
              for name, small in row.small.items() if name in row.entries]  # fmt: skip
    for entry, small in pairs:
        assert entry.kernel is small.kernel
        assert set(entry.config) <= set(small.config) or not small.config


def test_names_are_unique_and_peers_exist() -> None:
    assert len(BY_NAME) == len(ROWS) + len(TRIALS)
    assert {peer for row in RACES for peer in row.peers} <= set(LIBRARIES)


def test_every_row_has_a_bar_and_every_mean_a_group() -> None:
    assert [row.name for row in ROWS if not row.bars] == []
    assert set(MEANS) <= {row.group for row in RACES}


@pytest.mark.parametrize(
    ("group", "count"),
    [
        ("matrix products", 7 + 4 + 5 + 9),
        ("matrices and a few vectors", 3),
        ("tiles and order", 4),
        ("products with more", 2),
        ("row kernels", 11 * 5),
        ("row sum", 5),
        ("attention", 12),
        ("general programs", 10),
        ("launches", 6),
        ("compiling", 13),
        ("bounds of bug reports", 8),
    ],
)
def test_no_row_was_lost(group: str, count: int) -> None:
    assert sum(row.group == group for row in ROWS) == count


def test_starred_bars_are_those_of_the_plan() -> None:
    """Skinny products, row kernels and row sums lie beyond the prototypes; nothing else does."""
    starred = {row.name for row in ROWS if any(bar.starred for bar in row.bars)}
    expected = {row.name for row in ROWS if row.group in {"row kernels", "row sum"}}
    assert starred == expected | {"gemm NN 1000x17x1000", "gemm NN 1x4096x4096"}


def test_costs_at_one_sample_are_numbers() -> None:
    """The ones that start no process."""
    cheap = ("add of 17, direct call", "add of 17, two signatures in turn", "add of 17, through a stream",
             "launch of two empty tasks", "capture: row kernel", "C82 compile a 4x65536 tile")  # fmt: skip
    for name in cheap:
        row = BY_NAME[name]
        assert isinstance(row, Cost)
        (value,) = row.measure(1)
        assert value > 0
