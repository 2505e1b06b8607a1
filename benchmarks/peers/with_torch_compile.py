"""PyTorch, compiled by Inductor: the jobs of the eager peer, each compiled for its shapes before it is timed."""

from collections.abc import Sequence

from benchmarks.peers.peer import Peer, Prepared
from benchmarks.peers.with_torch import JOBS, about, arrays, tensors, torch
from examples.gallery.entry import Array

__all__ = ["PEER"]


def _prepare(job: str, inputs: Sequence[Array], _: Sequence[Array], threads: int) -> Prepared:
    torch.set_num_threads(threads)
    torch.compiler.reset()
    given, run = tensors(inputs), torch.compile(JOBS[job], dynamic=False)
    run(*given)
    return lambda: run(*given)


PEER = Peer("torch.compile", JOBS, _prepare, arrays, lambda: f"{about()}, Inductor")
