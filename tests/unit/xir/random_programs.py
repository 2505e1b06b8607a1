"""Random XIR: loops, branches, carries, index arithmetic, loads and stores that never leave their buffers."""

from random import Random

from xdsl.dialects.builtin import ModuleOp, VectorType, f32
from xdsl.ir import SSAValue

from tests.unit.xir.programs import Program

__all__ = ["EXTENT", "random_program"]

EXTENT = 32
LANES = 4


def random_program(seed: int, statements: int = 14) -> ModuleOp:
    """A verified kernel over two float buffers of EXTENT elements, for two tasks."""
    return _Writer(Random(seed)).write(statements)


class _Writer:
    """Keeps what is in scope: indices, scalars and vectors that later statements may use."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._p = Program((f32, EXTENT), (f32, EXTENT), tasks=2)
        self._b = self._p.b
        self._buffers = [*self._p.buffers, self._b.alloc(f32, EXTENT)]
        self._indices: list[SSAValue] = [self._p.task, self._b.i64(3)]
        self._scalars: list[SSAValue] = [self._b.const(f32, 1.5)]
        self._vectors: list[SSAValue] = [self._b.const(VectorType(f32, [LANES]), -0.5)]

    def write(self, statements: int) -> ModuleOp:
        with self._b.for_(0, EXTENT) as loop:  # scratch starts defined, so that every pass sees the same values
            self._b.store(self._scalars[0], self._buffers[2], loop.index)
        self._block(statements, depth=0)
        for buffer in self._buffers[:2]:
            self._b.store(self._random.choice(self._vectors), buffer, 4)
        return self._p.end()

    def _block(self, statements: int, depth: int) -> None:
        outer = len(self._indices), len(self._scalars), len(self._vectors)
        acts = [self._index, self._index, self._scalar, self._vector, self._load, self._store]
        if depth < 3:
            acts += [self._loop, self._branch]
        for _ in range(statements):
            act = self._random.choice(acts)
            act(depth)
        for values, count in zip((self._indices, self._scalars, self._vectors), outer, strict=True):
            del values[count:]

    def _index(self, _: int) -> None:
        b, pick = self._b, self._random.choice
        x, y = pick(self._indices), pick(self._indices)
        options = (
            lambda: b.add(x, y),
            lambda: b.sub(x, y),
            lambda: b.add(x, self._random.randint(-9, 9)),
            lambda: b.mul(x, self._random.randint(-3, 5)),
            lambda: b.mul(b.add(x, self._random.randint(1, 4)), self._random.randint(2, 8)),
            lambda: b.divsi(x, 3),
            lambda: b.maxsi(x, y),
        )
        self._indices.append(pick(options)())

    def _place(self, room: int) -> SSAValue:
        """An index that leaves room for `room` elements."""
        index = self._b.and_(self._random.choice(self._indices), EXTENT // 2 - 1)
        return self._b.add(index, self._random.randint(0, EXTENT // 2 - room))

    def _scalar(self, _: int) -> None:
        b, pick = self._b, self._random.choice
        x, y = pick(self._scalars), pick(self._scalars)
        options = (
            lambda: b.fadd(x, y),
            lambda: b.fmul(x, y),
            lambda: b.select(b.fcmp("olt", x, y), x, b.fneg(y)),
            lambda: b.fold_lanes("maximumf", pick(self._vectors)),
        )
        self._scalars.append(pick(options)())

    def _vector(self, _: int) -> None:
        b, pick = self._b, self._random.choice
        x, y = pick(self._vectors), pick(self._vectors)
        options = (
            lambda: b.fadd(x, y),
            lambda: b.fma(x, y, x),
            lambda: b.broadcast(pick(self._scalars), LANES),
            lambda: b.shuffle(x, y, [0, 5, 2, 7]),
        )
        self._vectors.append(pick(options)())

    def _load(self, _: int) -> None:
        b, buffer = self._b, self._random.choice(self._buffers)
        if self._random.random() < 0.5:
            self._scalars.append(b.load(buffer, self._place(1)))
            return
        mask = b.first_lanes(self._random.choice(self._indices), LANES)
        self._vectors.append(b.load(buffer, self._place(LANES), LANES, mask=self._random.choice([None, mask])))

    def _store(self, _: int) -> None:
        buffer = self._random.choice(self._buffers)
        if self._random.random() < 0.5:
            self._b.store(self._random.choice(self._scalars), buffer, self._place(1))
        else:
            self._b.store(self._random.choice(self._vectors), buffer, self._place(LANES))

    def _loop(self, depth: int) -> None:
        b, random = self._b, self._random
        last = random.choice([b.i64(0), b.i64(3), b.and_(random.choice(self._indices), 3)])
        with b.for_(
            0, last, random.randint(1, 2), [random.choice(self._scalars), random.choice(self._indices)]
        ) as loop:
            kept = len(self._indices), len(self._scalars)
            self._indices += [loop.index, loop.carries[1]]
            self._scalars.append(loop.carries[0])
            self._block(random.randint(2, 5), depth + 1)
            self._scalar(depth)
            self._index(depth)
            loop.yield_([self._scalars[-1], self._indices[-1]])
            del self._indices[kept[0] :], self._scalars[kept[1] :]
        self._scalars.append(loop.results[0])
        self._indices.append(loop.results[1])

    def _branch(self, depth: int) -> None:
        b, random = self._b, self._random
        cond = b.cmp("slt", random.choice(self._indices), random.choice(self._indices))
        with b.if_(cond, [f32]) as branch:
            self._block(random.randint(1, 4), depth + 1)
            branch.yield_([random.choice(self._scalars)])
        with branch.orelse() as other:
            self._block(random.randint(0, 3), depth + 1)
            other.yield_([random.choice(self._scalars)])
        self._scalars.append(branch.results[0])
