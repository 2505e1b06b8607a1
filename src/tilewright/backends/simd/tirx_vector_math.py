"""Tilewright's vector math for code of other compilers: plain C functions on float32, in machine code for this host.

    void vector_exp(const float* in, float* out, int64_t count)     out[i] = exp(in[i]); `out` may be `in`
    void vector_add(const float* in, float* out, int64_t count)     out[0] = the sum; likewise max and min

exp is the function that native kernels use. Sums run in several chains of vectors, so their order is another one;
maxima and minima keep a NaN. Of nothing they give 0, -inf and inf.
"""

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType

from tilewright.backends.llvm.emit.module import POOL_RUN, emit_module, kernel_symbol
from tilewright.backends.llvm.emit.schedule import schedule
from tilewright.backends.llvm.jit import compile_and_load
from tilewright.backends.llvm.machine import host_machine
from tilewright.backends.llvm.text import Function, Module, Parameter
from tilewright.backends.llvm.types import FLOAT, I64, PTR, VOID, Type, vector
from tilewright.backends.llvm.values import Value, constant
from tilewright.xir.passes.pipelines import CPU_PIPELINE, run_pipeline
from tilewright.xir.text import parse_module
from tilewright.xir.verify import verify_or_raise

__all__ = ["FUNCTIONS", "vector_functions"]

_C = [Parameter("source", PTR), Parameter("target", PTR), Parameter("count", I64)]
_EXP = "exponential"
_CHAINS = 4
_AVX512_BITS = 512
_CONTEXT = 5  # words: two buffers, no scratch, one thread
_MANY = 1 << 40

Combine = Callable[[Function, Value, Value], Value]


def _largest(predicate: str) -> Combine:
    def combine(f: Function, a: Value, b: Value) -> Value:
        return f.select(f.fcmp("uno", a, a), a, f.select(f.fcmp(predicate, a, b), a, b))

    return combine


_FOLDS: Mapping[str, tuple[float, Combine]] = MappingProxyType(
    {
        "add": (0.0, lambda f, a, b: f.fadd(a, b)),
        "max": (float("-inf"), _largest("ogt")),
        "min": (float("inf"), _largest("olt")),
    }
)
FUNCTIONS = ("exp", *_FOLDS)


@cache
def vector_functions() -> Mapping[str, int]:
    """The address of each function by its name. The code stays until the process ends."""
    machine = host_machine()
    lanes = machine.lanes(32)
    exp = kernel_symbol(_EXP)
    text = _exponential(lanes, scales=machine.vector_bits == _AVX512_BITS)
    own = compile_and_load(text, [exp], imports={POOL_RUN: 1}, name="vector exp")  # the pool is never called
    module = Module()
    _call(module, exp)
    for name, (start, combine) in _FOLDS.items():
        _fold(module.function(f"vector_{name}", _C), lanes, start, combine)
    exports = [f"vector_{name}" for name in FUNCTIONS]
    code = compile_and_load(module.text(), exports, imports={exp: own.address(exp)}, name="vector math")
    own.keep()
    code.keep()
    return MappingProxyType({name: code.address(f"vector_{name}") for name in FUNCTIONS})


def _exponential(lanes: int, *, scales: bool) -> str:
    """A kernel whose task number is how many elements there are."""
    module = parse_module(_exponential_text(lanes))
    verify_or_raise(module)
    run_pipeline(module, CPU_PIPELINE)
    return emit_module(module, schedule(module), scales=scales)


def _exponential_text(lanes: int) -> str:
    kind, buffer = f"vector<{lanes}xf32>", f"!xir.buffer<{_MANY} of f32, global>"
    return f"""builtin.module {{
  xir.kernel "{_EXP}" tasks #builtin.int<{_MANY}> {{
  ^bb0(%x: {buffer}, %y: {buffer}, %count: i64):
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %step = arith.constant {lanes} : i64
    %rest = arith.remsi %count, %step : i64
    %whole = arith.subi %count, %rest : i64
    scf.for %i = %zero to %whole step %step : i64 {{
      %value = xir.load %x[%i] : {buffer} -> {kind}
      %result = math.exp %value : {kind}
      xir.store %result, %y[%i] : {kind}, {buffer}
    }}
    scf.for %i = %whole to %count step %one : i64 {{
      %value = xir.load %x[%i] : {buffer} -> f32
      %result = math.exp %value : f32
      xir.store %result, %y[%i] : f32, {buffer}
    }}
    xir.return
  }}
}}
"""


def _call(module: Module, kernel: str) -> None:
    f = module.function("vector_exp", _C)
    source, target, count = f.arguments
    context = f.alloca(I64, _CONTEXT, 8)
    zero, one = constant(I64, 0), constant(I64, 1)
    for place, word in enumerate((source, target, zero, zero, one)):
        f.store(word, f.byte_offset(context, 8 * place))
    f.call_external(VOID, kernel, [context, count, zero])
    f.ret()


def _fold(f: Function, lanes: int, start: float, combine: Combine) -> None:
    source, target, count = f.arguments
    kind, step = vector(FLOAT, lanes), _CHAINS * lanes
    first = f.splat(constant(FLOAT, start), lanes)
    whole = f.sub(count, f.srem(count, constant(I64, step)))
    with f.loop(constant(I64, 0), whole, constant(I64, step), [first] * _CHAINS) as each:
        places = [f.add(each.index, constant(I64, chain * lanes)) for chain in range(_CHAINS)]
        found = [_element(f, kind, source, place) for place in places]
        each.advance(*(combine(f, *pair) for pair in zip(each.carried, found, strict=True)))
    total = each.results[0]
    for chain in each.results[1:]:
        total = combine(f, total, chain)
    while lanes > 1:
        lanes //= 2
        halves = [f.shuffle(total, None, range(begin, begin + lanes)) for begin in (0, lanes)]
        total = combine(f, *halves)
    scalar = f.lane(total, 0)
    with f.loop(whole, count, constant(I64, 1), [scalar]) as rest:
        rest.advance(combine(f, rest.carried[0], _element(f, FLOAT, source, rest.index)))
    f.store(rest.results[0], target, 4)
    f.ret()


def _element(f: Function, kind: Type, source: Value, place: Value) -> Value:
    return f.load(kind, f.offset(source, place, FLOAT), 4)
