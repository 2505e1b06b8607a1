"""Kernels that went through TVM, as shaders of the `simd` device: the same buffers, streams and checks as its own."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import cast

from tilewright.backends.llvm.target import toolchain_version
from tilewright.backends.simd.tirx_code import load_code
from tilewright.backends.simd.tirx_functions import register_functions
from tilewright.backends.simd.tirx_launcher import launch_on_our_pool
from tilewright.backends.simd.tirx_store import MadeKernel, tirx_kernel
from tilewright.bridge.tirx.compiled import Built, build
from tilewright.bridge.tirx.door import open_door, warn_of_llvm
from tilewright.bridge.tirx.options import TirxOptions
from tilewright.bridge.tirx.packed import PackedEntry
from tilewright.core.abi import CompileOptions, KernelMetadata, Report, Usage
from tilewright.core.codes.dispatch import ARGUMENT_OVERLAP
from tilewright.core.codes.unsupported import BAD_OPTION
from tilewright.core.errors import DispatchError, UnsupportedError
from tilewright.core.source import user_span
from tilewright.ir.kernel import Kernel
from tilewright.runtime.interface import Binding

__all__ = ["TirxShader", "make_ready", "tirx_shader"]


def tirx_shader(kernel: Kernel, options: CompileOptions) -> "TirxShader":
    """Raises UnsupportedError (TW406) for an option that this lowering cannot honour, and what `build` raises."""
    for name in ("threads_per_group", "fast_math"):
        if getattr(options, name):
            remedy = "leave it out, or ask for lowering=Lowering.NATIVE"
            value, allowed = getattr(options, name), "its default with lowering TIRX"
            raise UnsupportedError(BAD_OPTION.at(user_span(), option=name, value=value, allowed=allowed, remedy=remedy))
    chosen = options.tirx if isinstance(options.tirx, TirxOptions) else TirxOptions()
    make_ready(chosen)
    made = tirx_kernel(kernel, options, chosen)
    return TirxShader(made, load_code(made.code, made.metadata.source, kernel), partial(build, kernel, chosen))


def make_ready(options: TirxOptions) -> None:
    """Puts our pool under TVM's code, and registers the functions that it may call with these options."""
    door = open_door()
    launch_on_our_pool(door)
    warn_of_llvm(door, int(toolchain_version().rpartition(" LLVM ")[2].partition(".")[0]))
    register_functions(door, options)


class TirxShader:
    """A native shader whose code TVM made. Arguments may overlap unless `noalias` was promised."""

    def __init__(self, made: MadeKernel, entry: PackedEntry, compile_again: Callable[[], Built]) -> None:
        """`compile_again` makes the code anew where more of it is asked for than was kept."""
        self._made, self._entry, self._compile_again = made, entry, compile_again

    @property
    def metadata(self) -> KernelMetadata:
        return self._made.metadata

    @property
    def report(self) -> Report:
        return self._made.report

    def launch(self, bindings: Sequence[Binding], /) -> None:
        """Runs the kernel and returns when it is done."""
        self.launch_addresses([cast("int", each.buffer.address) + each.byte_offset for each in bindings])

    def launch_addresses(self, addresses: Sequence[int], /) -> None:
        """The same on the memory that begins at each address, in the order of the arguments.

        Raises DispatchError (TW634) when arguments overlap although `noalias` promised that they do not.
        """
        self._check(addresses)
        self._entry.launch_addresses(addresses)

    def prepare(self, addresses: Sequence[int], /) -> Callable[[], object]:
        """A launch on these arguments, as short as it can be. Raises what `launch_addresses` raises."""
        self._check(addresses)
        return self._entry.prepare(addresses)

    def _check(self, addresses: Sequence[int]) -> None:
        if self.metadata.disjoint_writes:
            _refuse_overlaps(self.metadata, addresses)

    def assembly(self) -> str:
        return self._compile_again().assembly()

    def close(self) -> None:
        """The code goes with the last reference to it."""


def _refuse_overlaps(metadata: KernelMetadata, addresses: Sequence[int]) -> None:
    """Direct calls come without views that the runtime could compare."""
    arguments = list(zip(range(len(addresses)), metadata.arguments, addresses, strict=True))
    for (i, first, begin), (j, second, other) in combinations(arguments, 2):
        end, other_end = begin + first.minimum_size_bytes, other + second.minimum_size_bytes
        written = [f"`{each.name}`" for each in (first, second) if Usage.WRITE in each.usage]
        if written and max(begin, other) < min(end, other_end):
            raise DispatchError(
                ARGUMENT_OVERLAP.at(
                    user_span(),
                    kernel=metadata.name,
                    what="the memory of the call",
                    first_index=i,
                    first=first.name,
                    first_range=f"{begin:#x}:{end:#x}",
                    second_index=j,
                    second=second.name,
                    second_range=f"{other:#x}:{other_end:#x}",
                    written=" and ".join(written),
                )
            )
