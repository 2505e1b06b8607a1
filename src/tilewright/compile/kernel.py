"""`@tile.kernel`: the language's definition of a kernel, and calls of it on arrays."""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Self, Unpack, overload

from tilewright.core.abi import CompileOptions
from tilewright.core.codes.dispatch import NOT_CALLED_YET
from tilewright.core.errors import DispatchError
from tilewright.core.source import user_span
from tilewright.lang.kernel import KernelDefinition

from .addresses import addresses_of
from .calls import Calls, Compiled, bind, usage_of
from .direct import configuration_key, not_yet
from .numbers import Numbers
from .options import OptionFields, bad_option, read_options

__all__ = ["TileKernel", "kernel"]

# What a call looks like before it is understood. Of other things than arrays something is missing or has another class.
_look: Callable[[object], object] = attrgetter("__class__", "dtype", "shape", "strides", "flags.num")


def _look_of(argument: object) -> object:
    return None if argument is None else _look(argument)


class TileKernel(KernelDefinition):
    """A kernel. Call it on arrays, or `capture` it and compile the result for a device and its streams.

    A call takes NumPy arrays, CPU tensors and whatever has DLPack, works in their memory, and returns when it is done;
    for a scalar it takes a number.
    It captures and compiles once for each combination of element types, shapes, strides and configuration, and again
    when a global or closure value that the kernel read has changed.
    """

    def __init__(
        self, function: Callable[..., None], options: CompileOptions | None = None, *, name: str | None = None
    ) -> None:
        super().__init__(function, name=name)
        self.compile_options = options or CompileOptions()
        self._calls = Calls(self, self.compile_options)
        self._recent = self._calls.recent
        self._direct: Callable[..., bool] = not_yet
        self._addresses = addresses_of()
        self._numbers = Numbers.of(self.signature)

    def __call__(self, *arrays: Any, **config: object) -> None:
        """Runs on these arrays, in place.

        Raises DispatchError (TW637, TW638, TW641, TW650 to TW654) and TileTypeError (TW218) for arguments that do not
        fit, each before any memory is touched, and what `capture` and `tile.compile` raise.
        """
        if config or not self._direct(*arrays):
            self._call_from_python(arrays, config)

    def _call_from_python(self, arrays: tuple[Any, ...], config: Mapping[str, object]) -> None:
        if self._numbers.places:
            self._call_with_numbers(arrays, config)
            return
        key = configuration_key(config)
        if config and key is not None and self._calls.entry(key)(*arrays):
            return
        try:
            look = None if key is None else (key, *map(_look_of, arrays))
            entry = self._recent.get(look)
        except (AttributeError, TypeError):  # something else than NumPy arrays
            look = entry = None
        if entry is None or not entry.watch.holds():
            entry = self._call(arrays, config, look)
            self._serve(arrays, key, entry)
        else:
            entry.launch(self._addresses([array for array in arrays if array is not None]))
            if entry.watch.rebound:
                entry.watch.rebound = False
                self._serve(arrays, key, entry)

    def _serve(self, arrays: tuple[Any, ...], key: object | None, entry: Compiled) -> None:
        if key is not None:
            self._calls.serve(arrays, key, entry)
            self._direct = self._calls.entry(())

    def _call_with_numbers(self, arguments: tuple[Any, ...], config: Mapping[str, object]) -> None:
        try:
            look = None if config else self._numbers.look(arguments, _look)
            entry = None if look is None else self._recent.get(look)
        except (AttributeError, TypeError):  # something else than NumPy arrays and numbers
            look = entry = None
        known = entry is not None and entry.watch.holds()
        memory = self._numbers.memory(arguments, entry.shader.metadata.arguments) if entry and known else None
        if entry is None or memory is None:
            self._call(arguments, config, look)
        else:
            entry.launch(self._addresses(memory))

    def _call(self, arrays: tuple[Any, ...], config: Mapping[str, object], look: object = None) -> Compiled:
        bound = bind(self, arrays, config)
        entry = self._calls.compiled(bound)
        if look is not None and self._numbers.are_alone(arrays):
            self._calls.remember(look, entry)
        entry.launch(bound.addresses())
        return entry

    def with_options(  # pyright: ignore[reportIncompatibleMethodOverride]  # here the options have names and types
        self, **options: Unpack[OptionFields]
    ) -> Self:
        """The same kernel with these compile options for its calls, the others as they are.

        Raises UnsupportedError: TW404 to TW406 for options that do not exist, fit or make sense.
        """
        return type(self)(self.function, _call_options(options, self.compile_options), name=self.name)

    def explain(self, *arrays: object, **config: object) -> str:
        """How it is compiled for these arrays, or was for the latest call: mapping, plan, costs, proofs, rejections.

        Raises DispatchError (TW655) without arrays before the first call, and what a call raises.
        """
        if arrays or config:
            return self._calls.compiled(bind(self, arrays, config)).shader.explain()
        if self._calls.last is None:
            raise DispatchError(NOT_CALLED_YET.at(user_span(), kernel=self.name, usage=usage_of(self, ".explain")))
        return self._calls.last.shader.explain()


@overload
def kernel(function: Callable[..., None], /) -> TileKernel: ...
@overload
def kernel(**options: Unpack[OptionFields]) -> Callable[[Callable[..., None]], TileKernel]: ...
def kernel(
    function: Callable[..., None] | None = None, /, **options: Unpack[OptionFields]
) -> TileKernel | Callable[[Callable[..., None]], TileKernel]:
    """Makes a kernel of a function: positional parameters are views and scalars, keyword-only ones host values.

    The keywords are compile options for its calls; `name` names the kernel too, in place of the function.

    Raises CaptureError: TW105 for what is no function, TW107 for a parameter that is neither; UnsupportedError: TW404
    to TW406 for the options.
    """
    read = _call_options(options, CompileOptions())
    if function is None:
        return lambda each: TileKernel(each, read, name=read.name)
    return TileKernel(function, read, name=read.name)


def _call_options(given: OptionFields, base: CompileOptions) -> CompileOptions:
    """A call gives no shader back, so it cannot report an error through one."""
    options = read_options({**given}, base)
    if not options.check:
        remedy = "catch the error of the call, or use tile.compile, which gives back a shader"
        raise bad_option("check", False, "True for direct calls", remedy)
    return options
