"""What a peer's file offers, and the table of those files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any, cast

from examples.gallery.entry import Array

__all__ = ["Job", "Peer", "Prepared", "open_peer", "several"]

Job = (
    Callable[[Any], Any]
    | Callable[[Any, Any], Any]
    | Callable[[Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any, Any], Any]
)
Prepared = Callable[[], Any]
"""One call of a job on arrays that the library has already. It returns when the work is done."""

_FILES: Mapping[str, str] = MappingProxyType(
    {
        "numpy": "with_numpy",
        "torch": "with_torch",
        "torch.compile": "with_torch_compile",
        "jax": "with_jax",
        "numba": "with_numba",
    }
)


@dataclass(frozen=True, slots=True)
class Peer:
    """A library that does jobs. A file of this folder calls it PEER.

    jobs:    what it can do, by name; each takes arrays of the library in the order of the kernel's inputs.
    prepare: a job on these NumPy arrays, with results of these shapes, on so many threads.
    arrays:  the results of a call as NumPy arrays.
    about:   version and settings that matter.
    """

    name: str
    jobs: Mapping[str, Job]
    prepare: Callable[[str, Sequence[Array], Sequence[Array], int], Prepared]
    arrays: Callable[[Any], list[Array]]
    about: Callable[[], str]


def several(result: Any) -> list[Any]:
    """What a job gave, one thing or a tuple of them."""
    return list(cast("tuple[Any, ...]", result)) if isinstance(result, tuple) else [result]


def open_peer(name: str) -> Peer:
    """Imports the library. Raises ImportError where it is not installed, and whatever a broken one raises."""
    return import_module(f"benchmarks.peers.{_FILES[name]}").PEER
