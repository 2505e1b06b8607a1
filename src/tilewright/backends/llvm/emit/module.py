"""The LLVM module of one XIR module.

    void @kernel.<name>(ptr context, i64 task, i64 worker)    one task
    void @launch(ptr context)                                 all tasks of each kernel, through the worker pool

The context is an array of 64-bit words: the address of every buffer in the order of the kernel, then the base of the
scratch blocks, the bytes of one block, and the number of threads. Memory of the launch lies before the scratch blocks.
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.backends.llvm.emit.access import ACCESS
from tilewright.backends.llvm.emit.arithmetic import ARITHMETIC
from tilewright.backends.llvm.emit.casts import CASTS
from tilewright.backends.llvm.emit.emitter import FUNCTION_PREFIX, Emitter, Rule, type_of
from tilewright.backends.llvm.emit.schedule import Schedule
from tilewright.backends.llvm.emit.shuffles import LANES
from tilewright.backends.llvm.emit.structure import STRUCTURE, returned_type
from tilewright.backends.llvm.memory import INVARIANT
from tilewright.backends.llvm.text import INTERNAL, Function, Module, Parameter
from tilewright.backends.llvm.types import I8, I64, PTR, VOID
from tilewright.backends.llvm.values import Value, constant
from tilewright.xir import ops
from tilewright.xir.types import buffer_type

__all__ = ["LAUNCH", "POOL_RUN", "RULES", "emit_module", "kernel_symbol"]

LAUNCH = "launch"
POOL_RUN = "tilewright_pool_run"
"""`void (ptr task, ptr context, i64 count, i64 threads)`; its address is given at link time."""

RULES: Mapping[type[Operation], Rule] = MappingProxyType({**ARITHMETIC, **CASTS, **LANES, **ACCESS, **STRUCTURE})
"""For each operation of an expanded module, how it becomes instructions."""


def kernel_symbol(name: str) -> str:
    """The symbol of the kernel called `name` in XIR."""
    return "kernel." + re.sub(r"[^A-Za-z0-9_.]", "_", name)


def emit_module(module: ModuleOp, schedule: Schedule, *, scales: bool = False) -> str:
    """The LLVM text of an expanded and scheduled module. `scales` says that the target has AVX-512.

    Raises UnsupportedError (TW441) where a rule is missing.
    """
    out = Module()
    for op in module.body.block.ops:
        if isinstance(op, ops.FuncOp):
            _function(out, op, schedule, scales=scales)
        elif isinstance(op, ops.KernelOp):
            _kernel(out, op, schedule, scales=scales)
    _launch(out, [op for op in module.body.block.ops if isinstance(op, ops.KernelOp)])
    return out.text()


def _function(out: Module, op: ops.FuncOp, schedule: Schedule, *, scales: bool) -> None:
    body = op.body.block
    ending = body.last_op
    kinds = [type_of(value) for value in ending.operands] if ending is not None else []
    parameters = [Parameter(f"a{argument.index}", type_of(argument)) for argument in body.args]
    name, result = FUNCTION_PREFIX + op.sym_name.data, returned_type(kinds) if kinds else VOID
    f = out.function(name, parameters, result, linkage=INTERNAL, attributes=("noinline",))
    cx = Emitter(f, schedule, RULES, scales=scales)
    for argument, value in zip(body.args, f.arguments, strict=True):
        cx.define(argument, value)
    _return(f, cx.values(cx.block(body)))


def _return(f: Function, values: list[Value]) -> None:
    if not values:
        f.ret()
    elif len(values) == 1:
        f.ret(values[0])
    else:
        f.ret(f.aggregate(values))


def _kernel(out: Module, op: ops.KernelOp, schedule: Schedule, *, scales: bool) -> None:
    parameters = [Parameter("context", PTR, ("nonnull",)), Parameter("task", I64), Parameter("worker", I64)]
    f = out.function(kernel_symbol(op.sym_name.data), parameters)
    context, task, worker = f.arguments
    cx = Emitter(f, schedule, RULES, scales=scales)
    *arguments, index = op.body.block.args
    buffers = _buffers(op)
    for position, buffer in enumerate(buffers):
        cx.define(buffer, _word(f, context, position))
    cx.define(index, task)
    if schedule.scratch_bytes or schedule.launch_bytes:
        base = _word(f, context, len(buffers))
        for argument in arguments[len(buffers) :]:
            cx.define(argument, f.byte_offset(base, schedule.launch[argument].offset))
        distance = f.mul(worker, constant(I64, schedule.scratch_bytes))
        cx.scratch = f.byte_offset(f.offset(base, distance, I8), schedule.launch_bytes)
    cx.block(op.body.block)
    if schedule.streams:
        f.fence("seq_cst")  # stores past the caches are ordered by nothing else
    f.ret()


def _word(f: Function, context: Value, position: int) -> Value:
    return f.load(PTR, f.byte_offset(context, 8 * position), metadata=INVARIANT)


def _buffers(op: ops.KernelOp) -> list[SSAValue]:
    """The buffers of the caller."""
    return [value for value in op.body.block.args[:-1] if buffer_type(value).space.data != "launch"]


def _launch(out: Module, kernels: Sequence[ops.KernelOp]) -> None:
    f = out.function(LAUNCH, [Parameter("context", PTR)])
    context = f.argument("context")
    threads = f.load(I64, f.byte_offset(context, 8 * (len(_buffers(kernels[-1])) + 2)))
    for op in kernels:
        kernel = Value(PTR, f"@{kernel_symbol(op.sym_name.data)}")
        f.call_external(VOID, POOL_RUN, [kernel, context, constant(I64, op.tasks.data), threads])
    f.ret()
