"""Direct calls: what was compiled for which arguments, and everything that happens when an argument is new."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import FunctionType
from typing import TypeVar, cast

from tilewright.core.abi import CompileOptions
from tilewright.core.codes.dispatch import CALL_ARGUMENTS
from tilewright.core.errors import DispatchError, during
from tilewright.core.locks import ChildLock
from tilewright.core.source import user_span
from tilewright.lang.annotations import ScalarAnnotation
from tilewright.lang.guards import fingerprint, guards_of
from tilewright.lang.kernel import KernelDefinition
from tilewright.lang.signature import BoundArguments, KernelSignature, TensorShape
from tilewright.runtime.device import Device, create_device
from tilewright.runtime.direct import DirectCall, DirectTable, DirectTableFactory
from tilewright.runtime.interface import AddressableShader
from tilewright.runtime.shader import Shader

from .arrays import HostArray, Place, host_array, host_number
from .compilation import compile_with
from .direct import looks_of, not_yet
from .watch import Watch

__all__ = ["Bound", "Calls", "Compiled", "bind", "default_device", "usage_of"]

MAX_ENTRIES = 512  # of one kernel object; the oldest goes first

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Compiled:
    """One compilation, good for its signature while `watch` holds. `launch` takes the addresses of the arguments."""

    shader: Shader
    watch: Watch
    launch: Callable[[Sequence[int]], None]
    config: Mapping[str, object]  # its identities are part of a key, so its values stay alive


@dataclass(frozen=True, slots=True)
class Bound:
    """The arguments of one call: memory for each positional one (None: absent), and the configuration."""

    arrays: tuple[HostArray | None, ...]
    config: Mapping[str, object]

    def key(self, signature: KernelSignature) -> object:
        """Equal for calls that the same code serves, whatever the numbers are. That an array is read-only matters to
        views that are written.
        """
        pairs = zip(signature.parameters, self.arrays, strict=True)
        specs = [None if array is None else _spec_key(array.spec, const=p.annotation.const) for p, array in pairs]
        return (*specs, *((name, fingerprint(value)) for name, value in self.config.items()))

    def addresses(self) -> list[int]:
        return [array.address for array in self.arrays if array is not None]

    def specs(self) -> tuple[TensorShape | None, ...]:
        return tuple(None if array is None else array.spec for array in self.arrays)


def _spec_key(spec: TensorShape, *, const: bool) -> object:
    return spec.dtype, spec.shape, spec.strides, spec.read_only and not const


@dataclass(slots=True)
class Calls:
    """The compilations of one kernel object. `recent` finds them by what a call looks like before it is understood."""

    definition: KernelDefinition
    options: CompileOptions
    recent: dict[object, Compiled] = field(default_factory=dict[object, Compiled])
    last: Compiled | None = None
    tables: dict[object, DirectTable | None] = field(default_factory=dict[object, "DirectTable | None"])
    _entries: dict[object, Compiled] = field(default_factory=dict[object, Compiled])
    _lock: ChildLock = field(default_factory=ChildLock)

    def compiled(self, bound: Bound) -> Compiled:
        """The code for these arguments, compiled now unless it was before. Threads that ask at once compile once."""
        key = bound.key(self.definition.signature)
        entry = self._entries.get(key)
        if entry is None or not entry.watch.holds():
            with self._lock:
                entry = self._entries.get(key)
                if entry is None or not entry.watch.holds():
                    entry = self._compile(bound)
                    _remember(self._entries, key, entry)
        self.last = entry
        return entry

    def remember(self, look: object, entry: Compiled) -> None:
        """From now on calls that look like this go to `entry` at once."""
        with self._lock:
            _remember(self.recent, look, entry)

    def entry(self, config: object) -> Callable[..., bool]:
        """What serves calls with this configuration (`configuration_key`) without Python, as DirectTable.entry."""
        table = self.tables.get(config)
        return not_yet if table is None else table.entry

    def serve(self, arguments: Sequence[object], config: object, entry: Compiled) -> None:
        """From now on the device serves calls that look like this alone, where it can."""
        looks, identities = looks_of(arguments, self.definition.signature), entry.watch.identities
        if looks is None or identities is None:
            return
        with self._lock:
            if config not in self.tables:
                device = default_device().context.native
                made = device.create_direct_table() if isinstance(device, DirectTableFactory) else None
                _remember(self.tables, config, made)
            table = self.tables[config]
        if table is not None:
            table.add(entry.shader.native, DirectCall(looks, identities, (entry.shader, entry.watch)))

    def _compile(self, bound: Bound) -> Compiled:
        definition = self.definition
        functions = [value for value in bound.config.values() if isinstance(value, FunctionType)]
        guards = [guards_of(function) for function in functions]
        with during(f"calling {definition.name} from {user_span().place()}"):
            captured = definition.capture_bound(BoundArguments(bound.specs(), bound.config))
            shader = compile_with(default_device(), captured.kernel, self.options)
        native = cast("AddressableShader", shader.native)
        return Compiled(shader, Watch([captured.guards, *guards]), native.launch_addresses, bound.config)


def _remember(table: dict[K, V], key: K, value: V) -> None:
    table.pop(key, None)
    while len(table) >= MAX_ENTRIES:
        del table[next(iter(table))]
    table[key] = value


def bind(definition: KernelDefinition, arguments: Sequence[object], keywords: Mapping[str, object]) -> Bound:
    """Arguments matched with parameters. Raises DispatchError: TW650 where they do not match, and what `host_array`
    and `host_number` raise.
    """
    signature = definition.signature
    try:
        bound = signature.python.bind(*arguments, **keywords)
    except TypeError as error:
        raise _bad_call(definition, str(error)) from None
    bound.apply_defaults()
    given = bound.arguments
    arrays: list[HostArray | None] = []
    for index, parameter in enumerate(signature.parameters):
        value = given.pop(parameter.name)
        absent = value is None and parameter.annotation.optional
        read = host_number if isinstance(parameter.annotation, ScalarAnnotation) else host_array
        arrays.append(None if absent else read(value, Place(definition.name, index, parameter)))
    return Bound(tuple(arrays), given)


def _bad_call(definition: KernelDefinition, problem: str) -> DispatchError:
    usage = usage_of(definition)
    return DispatchError(CALL_ARGUMENTS.at(user_span(), kernel=definition.name, problem=problem, usage=usage))


def usage_of(definition: KernelDefinition, method: str = "") -> str:
    """How a call looks: `gemm(A, B, C, bm=...)`."""
    names = [parameter.name for parameter in definition.signature.parameters]
    config = [f"{name}=..." for name in definition.signature.python.parameters if name not in names]
    return f"{definition.name}{method}({', '.join([*names, *config])})"


_CREATION = ChildLock()


def default_device() -> Device:
    """The device of direct calls: one `simd` device a process, made at the first call."""
    with _CREATION:
        return _device()


@cache
def _device() -> Device:
    return create_device("simd", validate=False)
