"""Branches, calls, returns, and the two shapes of control flow that are written by hand: `when` and counted loops."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Self

from tilewright.backends.llvm.arithmetic import Arithmetic
from tilewright.backends.llvm.emission import Block, Phi
from tilewright.backends.llvm.faults import misuse
from tilewright.backends.llvm.flags import NSW
from tilewright.backends.llvm.types import I1, I64, VOID, Type
from tilewright.backends.llvm.values import IntegerConstant, Value, constant

NO_UNROLL = "llvm.loop.unroll.disable"


class Control(Arithmetic):
    """Terminators and calls."""

    def branch(self, target: Block, loop: str = "") -> None:
        self.terminate(f"br label %{target.label}{loop}")

    def branch_if(self, condition: Value, then: Block, otherwise: Block, loop: str = "") -> None:
        if condition.type is not I1:
            raise misuse(f"branch on {condition.type}")
        self.terminate(f"br {condition}, label %{then.label}, label %{otherwise.label}{loop}")

    def switch(self, value: Value, default: Block, cases: Mapping[int, Block]) -> None:
        arms = " ".join(f"{value.type.text} {key}, label %{block.label}" for key, block in cases.items())
        self.terminate(f"switch {value}, label %{default.label} [ {arms} ]")

    def ret(self, value: Value | None = None) -> None:
        self.terminate("ret void" if value is None else f"ret {value}")

    def unreachable(self) -> None:
        self.terminate("unreachable")

    def call(self, result: Type, target: str | Value, arguments: Sequence[Value] = ()) -> Value:
        """A call of a function of this module by name, or through a pointer. Void calls go through `call_void`."""
        return self.define(result, f"call {result.text} {self._target(target)}({_listed(arguments)})")

    def call_void(self, target: str | Value, arguments: Sequence[Value] = ()) -> None:
        self.emit(f"call void {self._target(target)}({_listed(arguments)})")

    def call_external(self, result: Type, name: str, arguments: Sequence[Value]) -> Value:
        """A call of a function of the process, declared on use. The result of a void function must not be used."""
        self.module.declare(name, result, [argument.type for argument in arguments])
        if result is VOID:
            self.call_void(name, arguments)
            return Value(VOID, "")
        return self.call(result, name, arguments)

    @staticmethod
    def _target(target: str | Value) -> str:
        return f"@{target}" if isinstance(target, str) else target.ref

    @contextmanager
    def when(self, condition: Value) -> Generator[None]:
        """The body runs if the condition holds."""
        then, after = self.block("then"), self.block("after")
        self.branch_if(condition, then, after)
        self.place(then)
        yield
        if not self.current.closed:
            self.branch(after)
        self.place(after)

    def loop(
        self, start: Value, stop: Value, step: Value, initial: Sequence[Value] = (), *, unroll: bool = False
    ) -> "CountedLoop":
        """`for index in range(start, stop, step)` with step > 0 and stop + step inside the signed type.

        Use as a context manager: `with f.loop(...) as each:`, `each.index`, `each.carried`, `each.advance(...)`,
        and `each.results` after it. The entry test is left out where both bounds are constants with start < stop.
        """
        return CountedLoop(self, (start, stop, step), initial, "" if unroll else self.module.loop_metadata(NO_UNROLL))

    def up_to(self, stop: Value, initial: Sequence[Value] = ()) -> "CountedLoop":
        """`for index in range(stop)` over i64."""
        return self.loop(constant(I64, 0), stop, constant(I64, 1), initial)


def _listed(arguments: Sequence[Value]) -> str:
    return ", ".join([str(argument) for argument in arguments])


class CountedLoop:
    """A rotated loop: one test at the end of the body, one before the loop unless it certainly runs."""

    def __init__(
        self, function: Control, bounds: tuple[Value, Value, Value], initial: Sequence[Value], metadata: str
    ) -> None:
        self._function = function
        self._start, self._stop, self._step = bounds
        self._initial = tuple(initial)
        self._metadata = metadata
        self._next: tuple[Value, ...] = self._initial
        self.carried: tuple[Value, ...] = ()
        self.results: tuple[Value, ...] = ()

    def __enter__(self) -> Self:
        f = self._function
        self._before = f.current
        self._body, self._after = f.block("body"), f.block("done")
        if self._certain():
            f.branch(self._body)
        else:
            f.branch_if(f.icmp("slt", self._start, self._stop), self._body, self._after)
        f.place(self._body)
        self.index: Phi = f.phi(self._start.type)
        self._phis = [f.phi(value.type) for value in self._initial]
        self.carried = tuple(self._phis)
        for phi, value in zip([self.index, *self._phis], [self._start, *self._initial], strict=True):
            phi.add(value, self._before)
        self._next = self.carried
        return self

    def _certain(self) -> bool:
        start, stop = self._start, self._stop
        return isinstance(start, IntegerConstant) and isinstance(stop, IntegerConstant) and start.value < stop.value

    def advance(self, *values: Value) -> None:
        """The carried values of the next iteration. All were computed before any takes effect."""
        if len(values) != len(self._initial):
            raise misuse(f"loop carries {len(self._initial)} values, got {len(values)}")
        self._next = values

    def __exit__(self, error: object, *rest: object) -> None:
        if error is not None:
            return
        f = self._function
        following = f.add(self.index, self._step, NSW)
        again = f.icmp("slt", following, self._stop)
        last = f.current
        f.branch_if(again, self._body, self._after, self._metadata)
        for phi, value in zip([self.index, *self._phis], [following, *self._next], strict=True):
            phi.add(value, last)
        f.place(self._after)
        self.results = self._next if self._certain() else tuple(self._merge(last))

    def _merge(self, last: Block) -> Iterator[Phi]:
        for first, value in zip(self._initial, self._next, strict=True):
            phi = self._function.phi(value.type)
            phi.add(first, self._before)
            phi.add(value, last)
            yield phi
