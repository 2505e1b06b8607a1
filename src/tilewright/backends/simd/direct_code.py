"""The entry of direct calls as LLVM IR: from Python objects to a launch without running Python.

    PyObject *direct_call(PyObject *self, PyObject *const *arguments, Py_ssize_t count)

`self` is a NumPy array, the table. The first record that fits the arguments, whose guards hold and whose arguments lie
apart as its code expects, is launched, and the answer is True. Else nothing was done and the answer is False: finding
out what is wrong, and saying it, is Python's part.
"""

from collections.abc import Generator
from contextlib import contextmanager

from tilewright.backends.llvm.target import Target
from tilewright.backends.llvm.text import INTERNAL, Function, Module, Parameter
from tilewright.backends.llvm.types import I1, I8, I32, I64, PTR, VOID
from tilewright.backends.llvm.values import NULL, Value, constant
from tilewright.backends.simd.direct_layout import ARGUMENT, ARRAY, GUARD, HEAD, MAX_ARGUMENTS, PAIR, TABLE

__all__ = ["EXPORTS", "PYTHON", "direct_module"]

EXPORTS = ("direct_call", "direct_ticks", "direct_spare")
PYTHON = (
    "Py_IncRef", "Py_DecRef", "PyDict_GetItemWithError", "PyCell_Get", "PyErr_Occurred", "PyErr_Clear",
    "PyEval_SaveThread", "PyEval_RestoreThread",
)  # fmt: skip
TRUE, FALSE = "direct_true", "direct_false"

_TICKS = {"x86_64": "llvm.readcyclecounter", "aarch64": "llvm.readsteadycounter"}
_SPARE = "spare"
_YES, _NO = constant(I1, 1), constant(I1, 0)


def direct_module(target: Target) -> Module:
    """The entry for one target. TRUE and FALSE are the addresses of Python's two answers."""
    module = Module()
    module.variable(_SPARE, I64)
    _ticks(module, target)
    _spare(module)
    _array_fits(module)
    _arguments_fit(module)
    _guard_holds(module)
    _guards_hold(module)
    _lie_apart(module)
    _launch_on(module)
    _launch(module)
    _try(module)
    _call(module)
    return module


def _i64(value: int) -> Value:
    return constant(I64, value)


def _word(f: Function, base: Value, index: int) -> Value:
    return f.load(I64, f.byte_offset(base, 8 * index))


def _pointer(f: Function, base: Value, index: int) -> Value:
    return f.load(PTR, f.byte_offset(base, 8 * index))


def _field(f: Function, thing: Value, offset: int) -> Value:
    return f.load(PTR, f.byte_offset(thing, offset))


def _row(f: Function, rows: Value, index: Value, words: int) -> Value:
    return f.offset(rows, f.mul(index, _i64(words)), I64)


def _predicate(module: Module, name: str, *parameters: Parameter) -> Function:
    return module.function(name, parameters, I1, linkage=INTERNAL)


def _require(f: Function, condition: Value) -> None:
    """Goes on where the condition holds; else the function answers no."""
    on, no = f.block("on"), f.block("no")
    f.branch_if(condition, on, no)
    f.place(no)
    f.ret(_NO)
    f.place(on)


@contextmanager
def _each_row(f: Function, rows: Value, count: Value, words: int) -> Generator[Value]:
    with f.up_to(count) as each:
        yield _row(f, rows, each.index, words)


def _ticks(module: Module, target: Target) -> None:
    """A clock in unknown units; one that stands still where the processor has none that is cheap."""
    f = module.function("direct_ticks", [], I64)
    clock = _TICKS.get(target.architecture)
    if clock is None:
        f.ret(_i64(0))
        return
    module.declare(clock, I64, ())
    f.ret(f.call(I64, clock))


def _spare(module: Module) -> None:
    """The word that holds the address of the spare scratch block, 0 while a launch has it."""
    f = module.function("direct_spare", [], PTR)
    f.ret(Value(PTR, f"@{_SPARE}"))


def _array_fits(module: Module) -> None:
    f = _predicate(module, "array_fits", Parameter("thing", PTR), Parameter("row", PTR), Parameter("address", I64))
    thing, row, address = f.arguments
    _require(f, f.icmp("eq", _field(f, thing, ARRAY.dtype), _pointer(f, row, ARGUMENT.dtype)))
    rank = f.sext(f.load(I32, f.byte_offset(thing, ARRAY.rank)), I64)
    _require(f, f.icmp("eq", rank, _word(f, row, ARGUMENT.rank)))
    flags = f.zext(f.load(I32, f.byte_offset(thing, ARRAY.flags)), I64)
    masked = f.and_(flags, _word(f, row, ARGUMENT.flags_mask))
    _require(f, f.icmp("eq", masked, _word(f, row, ARGUMENT.flags)))
    _require(f, f.icmp("eq", f.and_(address, _word(f, row, ARGUMENT.misalignment)), _i64(0)))
    extents, strides = _field(f, thing, ARRAY.shape), _field(f, thing, ARRAY.strides)
    expected = _pointer(f, row, ARGUMENT.shape)
    with f.up_to(rank) as each:
        wanted = f.offset(expected, each.index, I64)
        _require(f, f.icmp("eq", f.load(I64, f.offset(extents, each.index, I64)), f.load(I64, wanted)))
        stride = f.load(I64, f.offset(wanted, rank, I64))
        _require(f, f.icmp("eq", f.load(I64, f.offset(strides, each.index, I64)), stride))
    f.ret(_YES)


def _arguments_fit(module: Module) -> None:
    """Whether each argument is what its row says; writes the address of each array."""
    parameters = [Parameter(name, PTR) for name in ("record", "given", "addresses")]
    f = _predicate(module, "arguments_fit", *parameters)
    record, given, addresses = f.arguments
    rows = f.byte_offset(record, 8 * HEAD.words)
    with f.up_to(_word(f, record, HEAD.arguments)) as each:
        row = _row(f, rows, each.index, ARGUMENT.words)
        thing = f.load(PTR, f.offset(given, each.index, I64))
        _require(f, f.icmp("eq", _field(f, thing, ARRAY.type), _pointer(f, row, ARGUMENT.type)))
        with f.when(f.icmp("sge", _word(f, row, ARGUMENT.rank), _i64(0))):
            address = f.load(I64, f.byte_offset(thing, ARRAY.data))
            f.store(address, f.offset(addresses, each.index, I64))
            _require(f, f.call(I1, "array_fits", [thing, row, address]))
    f.ret(_YES)


def _guard_holds(module: Module) -> None:
    f = _predicate(module, "guard_holds", Parameter("row", PTR))
    row = f.argument("row")
    container, name = _pointer(f, row, GUARD.container), _pointer(f, row, GUARD.name)
    value = _pointer(f, row, GUARD.value)
    with f.when(f.icmp("eq", name, NULL)):
        held = f.call_external(PTR, "PyCell_Get", [container])
        _require(f, f.icmp("ne", held, NULL))
        f.call_external(VOID, "Py_DecRef", [held])  # the cell keeps it, or it is not the expected object anyway
        f.ret(f.icmp("eq", held, value))
    found = f.call_external(PTR, "PyDict_GetItemWithError", [container, name])
    with f.when(f.icmp("eq", found, NULL)):
        error = f.call_external(PTR, "PyErr_Occurred", [])
        f.call_external(VOID, "PyErr_Clear", [])
        _require(f, f.icmp("eq", error, NULL))
    f.ret(f.icmp("eq", found, value))


def _guards_hold(module: Module) -> None:
    f = _predicate(module, "guards_hold", Parameter("record", PTR))
    record = f.argument("record")
    rows, count = _pointer(f, record, HEAD.guards), _word(f, record, HEAD.guard_count)
    with _each_row(f, rows, count, GUARD.words) as row:
        _require(f, f.call(I1, "guard_holds", [row]))
    f.ret(_YES)


def _lie_apart(module: Module) -> None:
    f = _predicate(module, "lie_apart", Parameter("record", PTR), Parameter("addresses", PTR))
    record, addresses = f.arguments
    rows, count = _pointer(f, record, HEAD.pairs), _word(f, record, HEAD.pair_count)
    with _each_row(f, rows, count, PAIR.words) as row:
        first = f.load(I64, f.offset(addresses, _word(f, row, PAIR.first), I64))
        second = f.load(I64, f.offset(addresses, _word(f, row, PAIR.second), I64))
        before = f.icmp("ule", f.add(first, _word(f, row, PAIR.first_bytes)), second)
        after = f.icmp("ule", f.add(second, _word(f, row, PAIR.second_bytes)), first)
        _require(f, f.or_(before, after))
    f.ret(_YES)


def _launch_on(module: Module) -> None:
    """Runs the code on a filled block. A launch that took long releases the interpreter lock the next time."""
    parameters = [Parameter("record", PTR), Parameter("block", PTR), Parameter("threshold", I64)]
    f = module.function("launch_on", parameters, linkage=INTERNAL)
    record, block, threshold = f.arguments
    code = _pointer(f, record, HEAD.code)
    release = f.icmp("ne", _word(f, record, HEAD.release), _i64(0))
    state = f.alloca(PTR, 1, 8)
    with f.when(release):
        f.store(f.call_external(PTR, "PyEval_SaveThread", []), state)
    start = f.call(I64, "direct_ticks")
    f.call_void(code, [block])
    spent = f.sub(f.call(I64, "direct_ticks"), start)
    with f.when(release):
        f.call_external(VOID, "PyEval_RestoreThread", [f.load(PTR, state)])
    is_long = f.icmp("uge", spent, threshold)
    f.store(f.zext(is_long, I64), f.byte_offset(record, 8 * HEAD.release))
    f.ret()


def _launch(module: Module) -> None:
    """Fills the argument block and launches; no when the scratch block is with another launch or too small."""
    parameters = [Parameter("record", PTR), Parameter("addresses", PTR), Parameter("threshold", I64)]
    f = _predicate(module, "launch", *parameters)
    record, addresses, threshold = f.arguments
    block = f.alloca(I64, MAX_ARGUMENTS + 3)
    buffers, order = _word(f, record, HEAD.buffers), _pointer(f, record, HEAD.order)
    with f.up_to(buffers) as each:
        position = f.load(I64, f.offset(order, each.index, I64))
        f.store(f.load(I64, f.offset(addresses, position, I64)), f.offset(block, each.index, I64))
    tail = f.offset(block, buffers, I64)
    f.store(_word(f, record, HEAD.worker_bytes), f.byte_offset(tail, 8))
    f.store(_word(f, record, HEAD.threads), f.byte_offset(tail, 16))
    wanted = _word(f, record, HEAD.scratch_bytes)
    with f.when(f.icmp("eq", wanted, _i64(0))):
        f.call_void("launch_on", [record, block, threshold])
        f.ret(_YES)
    spare = Value(PTR, f"@{_SPARE}")
    taken = f.atomicrmw("xchg", spare, _i64(0), "acquire")
    _require(f, f.icmp("ne", taken, _i64(0)))
    scratch = f.inttoptr(taken, PTR)
    enough = f.icmp("uge", f.load(I64, f.byte_offset(scratch, -8)), wanted)
    with f.when(enough):
        f.store(taken, tail)
        f.call_void("launch_on", [record, block, threshold])
    f.cmpxchg(spare, _i64(0), taken, "release", "monotonic")  # where a larger one came meanwhile, this one has served
    f.ret(enough)


def _try(module: Module) -> None:
    """One record. It is held by a reference, because guards and a launch without the lock may let others run."""
    parameters = [*(Parameter(name, PTR) for name in ("record", "given")), *(Parameter(n, I64) for n in ("n", "long"))]
    f = _predicate(module, "try_record", *parameters)
    record, given, count, threshold = f.arguments
    _require(f, f.icmp("eq", _word(f, record, HEAD.arguments), count))
    addresses = f.alloca(I64, MAX_ARGUMENTS)
    _require(f, f.call(I1, "arguments_fit", [record, given, addresses]))
    owner = _pointer(f, record, HEAD.owner)
    f.call_external(VOID, "Py_IncRef", [owner])
    served = f.alloca(I8, 1, 1)
    f.store(constant(I8, 0), served)
    with f.when(f.call(I1, "guards_hold", [record])), f.when(f.call(I1, "lie_apart", [record, addresses])):
        f.store(f.zext(f.call(I1, "launch", [record, addresses, threshold]), I8), served)
    f.call_external(VOID, "Py_DecRef", [owner])
    f.ret(f.icmp("ne", f.load(I8, served), constant(I8, 0)))


def _call(module: Module) -> None:
    parameters = [Parameter("self", PTR), Parameter("given", PTR), Parameter("count", I64)]
    f = module.function("direct_call", parameters, PTR)
    table = _field(f, f.argument("self"), ARRAY.data)
    threshold = _word(f, table, TABLE.threshold)
    records = f.byte_offset(table, 8 * TABLE.records)
    answers = {name: module.external(name) for name in (TRUE, FALSE)}
    with f.up_to(_word(f, table, TABLE.count)) as each:
        record = f.load(PTR, f.offset(records, each.index, I64))
        served = f.call(I1, "try_record", [record, f.argument("given"), f.argument("count"), threshold])
        with f.when(served):
            f.call_external(VOID, "Py_IncRef", [answers[TRUE]])
            f.ret(answers[TRUE])
    f.call_external(VOID, "Py_IncRef", [answers[FALSE]])
    f.ret(answers[FALSE])
