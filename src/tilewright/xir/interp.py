"""Runs an expanded module on NumPy arrays, checking every access: the meaning of XIR.

Each operation becomes a closure once, so that loops pay for the arithmetic only.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import cast

import numpy as np
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tilewright.core.codes.internal import XIR_BAD_ACCESS, XIR_NOT_EXPANDED
from tilewright.core.errors import InternalError
from tilewright.numerics.arrays import Array
from tilewright.numerics.faults import DivisionByZeroError
from tilewright.xir import address_ops, ops
from tilewright.xir.location import span_of
from tilewright.xir.types import BufferType, buffer_type, lanes_of
from tilewright.xir.values import VALUES, fold_pair, storage_dtype

__all__ = ["run"]

Env = dict[SSAValue, Array]
Step = Callable[[Env], None]


def run(module: ModuleOp, arrays: Sequence[Array], tasks: Iterable[int] | None = None, *, poison: bool = True) -> None:
    """Runs the module's kernels one after the other, writing to `arrays` in place; of the last one only `tasks`, or all
    of them in order when None.

    `arrays`: one contiguous one-dimensional array for every buffer of the caller, in order, of the buffer's element
    type; booleans may be `bool` and unsigned integers their own type. They may alias. With `poison`, fresh memory, of a
    worker or of the launch, holds NaN (for integers, a pattern).

    Raises InternalError: TW944 for an access outside a buffer or a division by zero, TW945 for an operation that
    the passes should have expanded.
    """
    kernels = [op for op in module.body.block.ops if isinstance(op, ops.KernelOp)]
    machine, kernel = _Machine(module, poison=poison), kernels[-1]
    buffers = [buffer_type(argument) for argument in kernel.body.block.args[:-1]]
    own = [kind for kind in buffers if kind.space.data == "launch"]
    if len(arrays) != len(buffers) - len(own):
        what = f"{len(arrays)} arrays stand for {len(buffers) - len(own)} buffers"
        raise InternalError(XIR_BAD_ACCESS.at(span_of(kernel), what=what))
    given = [_storage(array, kind, kernel) for array, kind in zip(arrays, buffers, strict=False)]
    memory = [*given, *(_fresh(kind, poison=poison) for kind in own)]
    for each in kernels:
        body, arguments = machine.compiled(each.body.block), each.body.block.args
        for task in range(each.tasks.data) if tasks is None or each is not kernel else tasks:
            env: Env = {**dict(zip(arguments, memory, strict=False)), arguments[-1]: np.asarray([task])}
            for step in body:
                step(env)


def _fresh(kind: BufferType, *, poison: bool) -> Array:
    fresh = np.zeros(kind.extent, storage_dtype(kind.element))
    if poison:
        fresh.view(np.uint8)[:] = 0xFF if fresh.dtype.kind in "fV" else 0x5A
    return fresh


def _storage(array: Array, kind: BufferType, kernel: ops.KernelOp) -> Array:
    """The array under the dtype that XIR values have; writes go through to the caller's."""
    dtype = storage_dtype(kind.element)
    if array.ndim != 1 or array.dtype.itemsize != dtype.itemsize or not array.flags.c_contiguous:
        what = f"an array of {array.dtype} with shape {array.shape} stands for {kind}"
        raise InternalError(XIR_BAD_ACCESS.at(span_of(kernel), what=what))
    return array.view(dtype)[: kind.extent]


class _Machine:
    """Turns operations into closures over an environment of values."""

    def __init__(self, module: ModuleOp, *, poison: bool) -> None:
        self._functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, ops.FuncOp)}
        self._compiled: dict[Block, list[Step]] = {}
        self.poison = poison

    def compiled(self, block: Block) -> list[Step]:
        """The steps of a block, without its terminator."""
        steps = self._compiled.get(block)
        if steps is None:
            inner = (op for op in block.ops if not isinstance(op, scf.YieldOp | ops.ReturnOp))
            steps = self._compiled[block] = [self._step(op) for op in inner]
        return steps

    def function(self, name: str) -> Block:
        return self._functions[name].body.block

    def _step(self, op: Operation) -> Step:
        values = VALUES.get(type(op))
        if values is not None:
            return _value_step(op, values(op))
        effect = _EFFECTS.get(type(op))
        if effect is None:
            raise InternalError(XIR_NOT_EXPANDED.at(span_of(op), op=op.name))
        return effect(self, op)


def _value_step(op: Operation, compute: Callable[..., Array]) -> Step:
    result, operands = op.results[0], tuple(op.operands)

    def step(env: Env) -> None:
        try:
            env[result] = compute(*[env[operand] for operand in operands])
        except DivisionByZeroError as error:
            raise InternalError(XIR_BAD_ACCESS.at(span_of(op), what=f"{op.name} divides by zero")) from error

    return step


def _for(machine: _Machine, op: Operation) -> Step:
    body = cast(scf.ForOp, op).body.block
    steps, yielded = machine.compiled(body), tuple(cast(Operation, body.last_op).operands)
    index, *carries = body.args
    lb, ub, stride, *inits = op.operands

    def step(env: Env) -> None:
        values = [env[init] for init in inits]
        for number in range(int(env[lb][0]), int(env[ub][0]), int(env[stride][0])):
            env[index] = np.asarray([number])
            env.update(zip(carries, values, strict=True))
            for inner in steps:
                inner(env)
            values = [env[value] for value in yielded]
        env.update(zip(op.results, values, strict=True))

    return step


def _if(machine: _Machine, op: Operation) -> Step:
    arms = [(machine.compiled(block), block) for region in op.regions for block in region.blocks]
    cond = op.operands[0]

    def step(env: Env) -> None:
        chosen = 0 if env[cond][0] else 1
        if chosen == len(arms):
            return
        steps, block = arms[chosen]
        for inner in steps:
            inner(env)
        yielded = cast(Operation, block.last_op).operands
        env.update(zip(op.results, [env[value] for value in yielded], strict=True))

    return step


def _call(machine: _Machine, op: Operation) -> Step:
    block = machine.function(cast(ops.CallOp, op).callee.data)
    operands = tuple(op.operands)

    def step(env: Env) -> None:
        frame: Env = dict(zip(block.args, [env[operand] for operand in operands], strict=True))
        for inner in machine.compiled(block):
            inner(frame)
        returned = cast(Operation, block.last_op).operands
        env.update(zip(op.results, [frame[value] for value in returned], strict=True))

    return step


def _alloc(machine: _Machine, op: Operation) -> Step:
    result, kind = op.results[0], buffer_type(op.results[0])

    def step(env: Env) -> None:
        env[result] = _fresh(kind, poison=machine.poison)

    return step


def _load(_: _Machine, op: Operation) -> Step:
    load = cast(ops.LoadOp, op)
    lanes, positions = lanes_of(load.result.type), _consecutive(op, load.buffer, load.index, load.result)
    if load.mask is None:
        return _plain_load(load, lanes)
    return _masked_read(load, load.mask, load.passthru, positions)


def _plain_load(load: ops.LoadOp, lanes: int) -> Step:
    buffer, index, result = load.buffer, load.index, load.result

    def step(env: Env) -> None:
        first, memory = int(env[index][0]), env[buffer]
        if first < 0 or first + lanes > len(memory):
            raise _outside(load, first, lanes, memory)
        env[result] = memory[first : first + lanes].copy()

    return step


Positions = Callable[[Env], Array]


def _consecutive(_: Operation, __: SSAValue, index: SSAValue, value: SSAValue) -> Positions:
    offsets = np.arange(lanes_of(value.type))
    return lambda env: env[index] + offsets


def _masked_read(
    op: ops.LoadOp | ops.GatherOp, mask: SSAValue | None, passthru: SSAValue | None, positions: Positions
) -> Step:
    buffer, result = op.buffer, op.result
    lanes, dtype = lanes_of(result.type), storage_dtype(result.type)

    def step(env: Env) -> None:
        where, memory = positions(env), env[buffer]
        active = slice(None) if mask is None else env[mask]
        taken = where[active]
        _check(op, taken, memory)
        values = np.zeros(lanes, dtype) if passthru is None else env[passthru].copy()
        values[active] = memory[taken]
        env[result] = values

    return step


def _gather(_: _Machine, op: Operation) -> Step:
    gather = cast(ops.GatherOp, op)
    indices = gather.indices
    return _masked_read(gather, gather.mask, gather.passthru, lambda env: env[indices])


def _store(_: _Machine, op: Operation) -> Step:
    store = cast(ops.StoreOp, op)
    positions = _consecutive(op, store.buffer, store.index, store.value)
    return _masked_write(store, store.mask, positions)


def _line_offset(_: _Machine, op: Operation) -> Step:
    """By the addresses that the arrays really have."""
    offset = cast(address_ops.LineOffsetOp, op)
    buffer, index, size, result = offset.buffer, offset.index, offset.bytes.data, offset.result

    def step(env: Env) -> None:
        memory = env[buffer]
        address = memory.ctypes.data + int(env[index][0]) * memory.itemsize
        env[result] = np.asarray([-address % size // memory.itemsize])

    return step


def _prefetch(_: _Machine, __: Operation) -> Step:
    return lambda _: None


def _scatter(_: _Machine, op: Operation) -> Step:
    scatter = cast(ops.ScatterOp, op)
    indices = scatter.indices
    return _masked_write(scatter, scatter.mask, lambda env: env[indices])


def _masked_write(op: ops.StoreOp | ops.ScatterOp, mask: SSAValue | None, positions: Positions) -> Step:
    """Lanes are written in order, so that of two lanes at one place the later one stays."""
    buffer, value = op.buffer, op.value

    def step(env: Env) -> None:
        where, values, memory = positions(env), env[value], env[buffer]
        if mask is not None:
            where, values = where[env[mask]], values[env[mask]]
        _check(op, where, memory)
        memory[where] = values

    return step


def _atomic(_: _Machine, op: Operation) -> Step:
    atomic = cast(ops.AtomicOp, op)
    buffer, index, value = atomic.buffer, atomic.index, atomic.value
    pair = fold_pair(atomic.kind.data, value.type)

    def step(env: Env) -> None:
        where, memory = env[index], env[buffer]
        _check(op, where, memory)
        memory[where] = pair(memory[where], env[value])

    return step


def _check(op: Operation, where: Array, memory: Array) -> None:
    outside = where[(where < 0) | (where >= len(memory))]
    if len(outside):
        raise _outside(op, int(outside[0]), 1, memory)


def _outside(op: Operation, first: int, count: int, memory: Array) -> InternalError:
    buffer = next(operand for operand in op.operands if isinstance(operand.type, BufferType))
    what = f"{op.name} touches elements {first}..{first + count - 1} of {buffer.type}, which has {len(memory)}"
    return InternalError(XIR_BAD_ACCESS.at(span_of(op), what=what))


_EFFECTS: Mapping[type[Operation], Callable[[_Machine, Operation], Step]] = MappingProxyType(
    {
        scf.ForOp: _for,
        scf.IfOp: _if,
        ops.CallOp: _call,
        ops.AllocOp: _alloc,
        ops.LoadOp: _load,
        ops.StoreOp: _store,
        address_ops.LineOffsetOp: _line_offset,
        address_ops.PrefetchOp: _prefetch,
        ops.GatherOp: _gather,
        ops.ScatterOp: _scatter,
        ops.AtomicOp: _atomic,
    }
)
