"""What a planner may know of a machine. A record, so that plans are pure functions and testable without hardware."""

from dataclasses import dataclass

__all__ = ["GENERIC_AVX2", "GENERIC_AVX512", "GENERIC_NEON", "Machine"]

_KIB = 1024
_MIB = 1024 * _KIB


@dataclass(frozen=True, slots=True)
class Machine:
    """A CPU as the planner sees it.

    name:             how reports call it.
    cpu:              LLVM's name of the processor.
    features_digest:  of LLVM's feature list; part of every cache key.
    vector_bits:      width of the native vector registers.
    vector_registers: how many of them a function may use.
    has_masks:        masked loads and stores cost about as much as plain ones; without it tails need another form.
    fma_pipes:        fused multiply-adds of full width started in one cycle.
    l1_bytes, l2_bytes, l3_bytes: data caches of one core, the last one as a core sees it (shared). 0: none.
    cores:            cores this process may use.
    cache_line:       bytes.
    """

    name: str
    cpu: str
    features_digest: str
    vector_bits: int
    vector_registers: int
    has_masks: bool
    fma_pipes: int
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    cores: int
    cache_line: int = 64

    def lanes(self, element_bits: int) -> int:
        """Elements of a native vector."""
        return self.vector_bits // element_bits


GENERIC_AVX512 = Machine(
    name="generic AVX-512",
    cpu="x86-64-v4",
    features_digest="",
    vector_bits=512,
    vector_registers=32,
    has_masks=True,
    fma_pipes=2,
    l1_bytes=32 * _KIB,
    l2_bytes=_MIB,
    l3_bytes=32 * _MIB,
    cores=4,
)
GENERIC_AVX2 = Machine(
    name="generic AVX2",
    cpu="x86-64-v3",
    features_digest="",
    vector_bits=256,
    vector_registers=16,
    has_masks=True,
    fma_pipes=2,
    l1_bytes=32 * _KIB,
    l2_bytes=512 * _KIB,
    l3_bytes=16 * _MIB,
    cores=4,
)
GENERIC_NEON = Machine(
    name="generic NEON",
    cpu="neoverse-n1",
    features_digest="",
    vector_bits=128,
    vector_registers=32,
    has_masks=False,
    fma_pipes=2,
    l1_bytes=64 * _KIB,
    l2_bytes=_MIB,
    l3_bytes=32 * _MIB,
    cores=4,
)
