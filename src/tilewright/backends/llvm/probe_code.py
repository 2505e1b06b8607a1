"""Loops whose time tells what single steps of this machine take.

    void @<name>(i64 rounds, ptr data, i64 vectors)

`data` begins with vectors of ones; every loop leaves its result there, so that none of it is idle.
"""

from collections.abc import Callable, Sequence

from tilewright.backends.llvm.text import Function, Module, Parameter
from tilewright.backends.llvm.types import FLOAT, I32, I64, PTR, VOID, vector
from tilewright.backends.llvm.values import Value, booleans, constant, integers, zero

__all__ = ["CHAINS", "EXPONENTIAL", "GATHERS", "PROBES", "READS", "exponential_text", "probe_module"]

CHAINS = 16  # operations under way at once
READS = 8  # vectors read in one turn
GATHERS = 4
PAGE = 4096  # bytes
EXPONENTIAL = (64, 64)  # vectors, and how often
_APART = 5  # elements between the lanes of a gather
_PLACES = 256  # that a gather begins at
_ALIGNED = 64

Body = Callable[[Function, int], None]


def probe_module(lanes: int) -> Module:
    """All loops, for vectors of so many 32-bit elements."""
    module = Module()
    for name, body in PROBES.items():
        parameters = [Parameter("rounds", I64), Parameter("data", PTR), Parameter("vectors", I64)]
        f = module.function(name, parameters, VOID)
        body(f, lanes)
        f.ret()
    return module


def _multiply_add(f: Function, lanes: int) -> None:
    x = f.load(vector(FLOAT, lanes), f.argument("data"), _ALIGNED)
    with f.up_to(f.argument("rounds"), [x] * CHAINS) as each:
        each.advance(*(f.fma(x, x, chain) for chain in each.carried))
    _leave(f, each.results)


def _chain(f: Function, lanes: int) -> None:
    x = f.load(vector(FLOAT, lanes), f.argument("data"), _ALIGNED)
    with f.up_to(f.argument("rounds"), [x]) as each:
        each.advance(f.fma(x, x, each.carried[0]))
    _leave(f, each.results)


def _divide(f: Function, lanes: int) -> None:
    x = f.load(vector(FLOAT, lanes), f.argument("data"), _ALIGNED)
    with f.up_to(f.argument("rounds"), [x] * CHAINS) as each:
        each.advance(*(f.fdiv(chain, x) for chain in each.carried))
    _leave(f, each.results)


def _read(f: Function, lanes: int) -> None:
    kind, data = vector(I32, lanes), f.argument("data")
    with f.up_to(f.argument("rounds"), [zero(kind)] * READS) as again:
        with f.loop(constant(I64, 0), f.argument("vectors"), constant(I64, READS), again.carried) as each:
            places = [f.add(each.index, constant(I64, step)) for step in range(READS)]
            found = [f.load(kind, f.offset(data, place, kind), _ALIGNED) for place in places]
            each.advance(*(f.or_(old, new) for old, new in zip(each.carried, found, strict=True)))
        again.advance(*each.results)
    _leave_bits(f, again.results)


def _apart(f: Function, lanes: int) -> None:
    """The same as reading, but a vector of each page before the second of any. `vectors` are whole pages."""
    kind, data, page = vector(I32, lanes), f.argument("data"), PAGE // (4 * lanes)
    with f.up_to(f.argument("rounds"), [zero(kind)] * READS) as again:
        with f.loop(constant(I64, 0), constant(I64, page), constant(I64, 1), again.carried) as column:
            end, step = f.argument("vectors"), constant(I64, READS * page)
            with f.loop(constant(I64, 0), end, step, column.carried) as each:
                first = f.add(each.index, column.index)
                places = [f.add(first, constant(I64, turn * page)) for turn in range(READS)]
                found = [f.load(kind, f.offset(data, place, kind), _ALIGNED) for place in places]
                each.advance(*(f.or_(old, new) for old, new in zip(each.carried, found, strict=True)))
            column.advance(*each.results)
        again.advance(*column.results)
    _leave_bits(f, again.results)


def _broadcast(f: Function, lanes: int) -> None:
    kind, data = vector(I32, lanes), f.argument("data")
    with f.up_to(f.argument("rounds"), [zero(kind)] * READS) as each:
        start = f.and_(each.index, constant(I64, _PLACES - 1))
        places = [f.add(start, constant(I64, step)) for step in range(READS)]
        found = [f.splat(f.load(I32, f.offset(data, place, I32), 4), lanes) for place in places]
        each.advance(*(f.or_(old, new) for old, new in zip(each.carried, found, strict=True)))
    _leave_bits(f, each.results)


def _gather(f: Function, lanes: int) -> None:
    kind, data, every = vector(I32, lanes), f.argument("data"), booleans([True] * lanes)
    with f.up_to(f.argument("rounds"), [zero(kind)] * GATHERS) as each:
        found: list[Value] = []
        start = f.and_(each.index, constant(I64, _PLACES - 1))  # else what is loaded would be loaded once
        for step in range(GATHERS):
            places = integers(I64, [step + _APART * lane for lane in range(lanes)])
            moved = f.add(places, f.splat(start, lanes))
            found.append(f.gather(kind, f.offset(data, moved, I32), every, zero(kind), 4))
        each.advance(*(f.or_(old, new) for old, new in zip(each.carried, found, strict=True)))
    for step, result in enumerate(each.results):
        f.store(result, f.offset(data, constant(I64, step), kind), _ALIGNED)


def _leave(f: Function, results: Sequence[Value]) -> None:
    total = results[0]
    for other in results[1:]:
        total = f.fadd(total, other)
    f.store(total, f.argument("data"), _ALIGNED)


def _leave_bits(f: Function, results: Sequence[Value]) -> None:
    total = results[0]
    for other in results[1:]:
        total = f.or_(total, other)
    f.store(total, f.argument("data"), _ALIGNED)


PROBES: dict[str, Body] = {
    "multiply_add": _multiply_add,
    "chain": _chain,
    "divide": _divide,
    "read": _read,
    "apart": _apart,
    "broadcast": _broadcast,
    "gather": _gather,
}


def exponential_text(lanes: int, vectors: int, rounds: int) -> str:
    """XIR of a kernel that computes the exponentials of so many vectors, again and again, by the function that kernels
    use.
    """
    kind, buffer = f"vector<{lanes}xf32>", f"!xir.buffer<{lanes * vectors} of f32, global>"
    return f"""builtin.module {{
  xir.kernel "exponential" tasks #builtin.int<1> {{
  ^bb0(%x: {buffer}, %y: {buffer}, %task: i64):
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %rounds = arith.constant {rounds} : i64
    %step = arith.constant {lanes} : i64
    %end = arith.constant {lanes * vectors} : i64
    scf.for %round = %zero to %rounds step %one : i64 {{
      scf.for %i = %zero to %end step %step : i64 {{
        %value = xir.load %x[%i] : {buffer} -> {kind}
        %result = math.exp %value : {kind}
        xir.store %result, %y[%i] : {kind}, {buffer}
      }}
    }}
    xir.return
  }}
}}
"""
