"""How one product becomes as many tasks as there are threads: a grid of rows and columns."""

import pytest

from tilewright.bridge.xir.retile import parts_of


@pytest.mark.parametrize(
    ("extents", "threads", "parts"),
    [
        ([512, 512], 1, (512, 512)),
        ([512, 512], 2, (256, 512)),
        ([1000, 1000], 2, (504, 1000)),
        ([8, 4096], 2, (8, 2048)),  # no second row of register tiles
        ([64, 4096], 2, (64, 2048)),  # the larger operand is read once
        ([4096, 64], 2, (2048, 64)),
        ([1024, 1024], 16, (256, 256)),
        ([4096, 17], 16, (256, 17)),
        ([1000], 4, (256,)),
        ([5, 9], 64, (5, 9)),
    ],
)
def test_parts_share_the_work_and_read_little(extents: list[int], threads: int, parts: tuple[int, ...]) -> None:
    assert parts_of(extents, threads) == parts


@pytest.mark.parametrize("threads", [1, 2, 3, 7, 16])
def test_there_are_never_more_parts_than_threads(threads: int) -> None:
    for extents in ([1, 1], [100, 7], [1000, 1000], [33, 4097]):
        rows, columns = parts_of(extents, threads)
        assert -(-extents[0] // rows) * -(-extents[1] // columns) <= threads
