"""`@tile.kernel`: the language's definition of a kernel, and calls of it on arrays."""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Self, Unpack, overload

from numpy import ndarray

from tilewright.core.abi import CompileOptions
from tilewright.core.codes.dispatch import NOT_CALLED_YET
from tilewright.core.errors import DispatchError
from tilewright.core.source import user_span
from tilewright.lang.kernel import KernelDefinition

from .addresses import addresses_of
from .calls import Calls, bind, usage_of
from .numbers import Numbers
from .options import OptionFields, bad_option, read_options

__all__ = ["TileKernel", "kernel"]

# What a call looks like before it is understood. Of other things than arrays something is missing or has another class.
_look: Callable[[object], object] = attrgetter("__class__", "dtype", "shape", "strides", "flags.num")


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
        self._addresses = addresses_of()
        self._numbers = Numbers.of(self.signature)

    def __call__(self, *arrays: Any, **config: object) -> None:
        """Runs on these arrays, in place.

        Raises DispatchError (TW637, TW638, TW641, TW650 to TW654) and TileTypeError (TW218) for arguments that do not
        fit, each before any memory is touched, and what `capture` and `tile.compile` raise.
        """
        if self._numbers.places:
            self._call_with_numbers(arrays, config)
            return
        try:
            entry = None if config else self._recent.get(tuple(map(_look, arrays)))
        except (AttributeError, TypeError):  # something else than NumPy arrays
            entry = None
        if entry is None or not entry.watch.holds():
            self._call(arrays, config)
        else:
            entry.launch(self._addresses(arrays))

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

    def _call(self, arrays: tuple[Any, ...], config: Mapping[str, object], look: object = None) -> None:
        bound = bind(self, arrays, config)
        entry = self._calls.compiled(bound)
        if not config and not self._numbers.places and all(type(array) is ndarray for array in arrays):
            self._calls.remember(tuple(map(_look, arrays)), entry)
        elif look is not None and self._numbers.are_alone(arrays):
            self._calls.remember(look, entry)
        entry.launch(bound.addresses())

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
    """Makes a kernel of a function whose positional parameters are views and scalars, its keyword-only ones host values.

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
