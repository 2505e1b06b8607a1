"""What code is made for: the host, or a named target whose assembly tests read without the hardware."""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from tilewright.core.codes.toolchain import LLVM_NO_TARGET
from tilewright.core.errors import ToolchainError
from tilewright.core.locks import LATE_IMPORTS
from tilewright.core.source import UNKNOWN

if TYPE_CHECKING:
    from llvmlite.binding import TargetMachine


@dataclass(frozen=True, slots=True)
class Target:
    """LLVM's three names of a target. All of them belong into cache keys."""

    triple: str
    cpu: str
    features: str = ""

    @property
    def architecture(self) -> str:
        """`x86_64` or `aarch64` for the targets we know, else what the triple says."""
        first = self.triple.partition("-")[0]
        return {"arm64": "aarch64", "amd64": "x86_64"}.get(first, first)


X86_64 = Target("x86_64-unknown-linux-gnu", "x86-64")
X86_64_V3 = Target("x86_64-unknown-linux-gnu", "x86-64-v3")
X86_64_V4 = Target("x86_64-unknown-linux-gnu", "x86-64-v4")
NEOVERSE_N1 = Target("aarch64-unknown-linux-gnu", "neoverse-n1")
APPLE_M1 = Target("arm64-apple-macosx14.0.0", "apple-m1")


@cache
def host() -> Target:
    """The processor this process runs on."""
    with LATE_IMPORTS:  # for the calls, too: llvmlite has a lock of its own, which a child would find locked for good
        from tilewright.backends.llvm._llvmlite import llvm

        return Target(llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


@cache
def toolchain_version() -> str:
    """Versions of llvmlite and LLVM, for cache keys."""
    with LATE_IMPORTS:
        from tilewright.backends.llvm._llvmlite import VERSION

    return VERSION


@cache
def target_machine(target: Target) -> "TargetMachine":
    """LLVM's code generator at level 3. Callers hold the lock of `jit`. Raises ToolchainError (TW512)."""
    from tilewright.backends.llvm._llvmlite import llvm

    try:
        known = llvm.Target.from_triple(target.triple)
        return known.create_target_machine(cpu=target.cpu, features=target.features, opt=3, jit=True)
    except RuntimeError as error:
        diagnostic = LLVM_NO_TARGET.at(UNKNOWN, triple=target.triple, cpu=target.cpu, reason=str(error))
        raise ToolchainError(diagnostic) from error


@cache
def data_layout(target: Target) -> str:
    """The layout string that modules for this target carry."""
    return str(target_machine(target).target_data)
