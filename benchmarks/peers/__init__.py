"""The peers: what one would call instead. One file a library, which imports it at its head and is imported late."""

from benchmarks.peers.peer import Peer, open_peer

__all__ = ["Peer", "open_peer"]
