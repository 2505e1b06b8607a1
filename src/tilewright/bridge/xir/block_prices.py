"""What a product takes in blocks of one kind: nanoseconds by the figures of the machine, term by term.

Arithmetic goes on while near data are on their way, so what is read again from a cache counts for a part only, and what
comes from afar counts in full. A price ranks ways to compute a product, it never makes one legal.
"""

from dataclasses import dataclass
from math import gcd, log2

from tilewright.core.machine import Level, Machine

__all__ = ["AGAIN", "KIND", "WAITED", "Blocks", "Lines", "Product", "Terms", "beneath", "price"]

_PAGE = 4096
# What no figure of a machine says, fitted to products of many shapes on Zen 4 cores:
KIND = 6400  # multiply-adds that the first tile of each size takes in a launch, since its code is fetched
_OTHER = 800  # the same of each further size, whenever the product is computed again: branches are mispredicted
_CALL = 16  # multiply-adds that a register tile takes beside its own: a call, and a pipe that fills and runs empty
AGAIN = (0.0, 0.03, 0.04, 1.0)  # by level, of a vector of B that is read again: the rest goes by beneath arithmetic
WAITED = (0.0, 0.05, 0.15, 1.0)  # the same of a line of A
_ACROSS = 3  # times as much of one that only one step of k reads
_NEAR_STEPS = 8  # times as much of one after a step of up to two pages, which are taken for a stream that they are not
_TURNING = 0.05  # of being apart, where rows of A come to the ends of their lines together
_STREAMS = 12  # runs of lines that are fetched ahead at once; of twice as many none is
_MISSES = 48  # lines that a core waits for at once
_IN_FLIGHT = 32  # vectors on their way from memory beneath which as much arithmetic goes on as not
_BENEATH = 0.8  # the most of it that does
_BROUGHT = 0.5  # of being apart, for a vector of shared panels that a program reads first
_ASKED = 0.1  # multiply-adds, for each k of a tile that asks for what is copied after it
# What the code does:
_AHEAD = 8  # register tiles over a panel, between which the next one is copied
_WRITTEN = 2  # a line that is written is brought first, and carried back


@dataclass(frozen=True, slots=True)
class Blocks:
    """The register tile, the length of a block of k (0: all), rows between two passes over B (0: all), and how many
    operands lie in panels (1: B, 2: A too). Panels of B are made one by one, each before its only use, unless rows go
    in blocks: then all of a block of k at once; or unless they are `shared` (1: B, 2: A, 3: both): a launch before that
    of the product packs them for all programs. `along` says that lanes run along k: of a tile of sums `vectors` are
    columns then.
    """

    rows: int
    vectors: int
    k: int
    row_block: int
    packed: int
    shared: int = 0
    along: bool = False

    @property
    def shares_a(self) -> bool:
        return self.shared & 2 > 0

    @property
    def shares_b(self) -> bool:
        return self.shared & 1 > 0


@dataclass(frozen=True, slots=True)
class Lines:
    """How a matrix lies: bytes from one line to the next, whether lines run across the direction in which a register
    tile reads it (of A: along rows; of B: along k), and whether each element is converted.
    """

    step: int
    across: bool = False
    converted: bool = False

    @property
    def apart(self) -> float:
        """How often the next line begins in another page."""
        return min(self.step / _PAGE, 1.0)

    def places(self, line: int) -> int:
        """At how many places of a page lines begin: where these are few, they fill only some sets of a cache."""
        return min(_PAGE // gcd(self.step or _PAGE, _PAGE), _PAGE // line)


@dataclass(frozen=True, slots=True)
class Product:
    """Extents, lanes of a vector and bytes of an element of the sums, and how the matrices lie. `a_panels`, `b_panels`:
    the operand is computed while its panels are packed, so that it has some. `folds`: how many times k sums stay in
    registers. `runs`: how often one of the `workers` computes it in a launch. `a_parts`, `b_parts`: in how many parts
    its panels can be shared by all programs, 0 where they cannot be.
    """

    rows: int
    columns: int
    depth: int
    lanes: int
    itemsize: int
    a: Lines
    b: Lines
    c: Lines
    a_panels: bool = False
    b_panels: bool = False
    folds: int = 1
    runs: int = 1
    workers: int = 1
    a_parts: int = 0
    b_parts: int = 0

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to multiply."""
        return not self.rows * self.columns * self.depth * self.runs

    @property
    def size(self) -> int:
        """Bytes of all three."""
        m, n, k = self.rows, self.columns, self.depth
        return (m * k + k * n + m * n) * self.itemsize


@dataclass(frozen=True, slots=True)
class Terms:
    """Nanoseconds of one product: multiply-adds; what register tiles take beside them; its share of what fetching their
    code takes, once a launch, and of waiting for panels that others pack; copies into panels; and what A, B and C take
    to be brought, beyond what goes on beneath arithmetic.
    """

    arithmetic: float
    tiles: float
    code: float
    waiting: float
    copies: float
    a: float
    b: float
    c: float

    @property
    def total(self) -> float:
        return self.arithmetic + self.tiles + self.once + self.copies + self.a + self.b + self.c

    @property
    def once(self) -> float:
        """What a worker takes once a launch, shared by all of its products."""
        return self.code + self.waiting

    def parts(self) -> dict[str, float]:
        """By the names that a reader sees."""
        return {
            "multiply-adds": self.arithmetic, "tiles": self.tiles, "code": self.code, "waiting": self.waiting,
            "copies": self.copies, "A": self.a, "B": self.b, "C": self.c,
        }  # fmt: skip

    def __str__(self) -> str:
        parts = {name: part for name, part in self.parts().items() if part or name != "waiting"}
        return f"{self.total:.0f} ns = " + " + ".join(f"{name} {part:.0f}" for name, part in parts.items())


def price(product: Product, blocks: Blocks, machine: Machine) -> Terms:
    """The terms of a product in these blocks; nothing where there is nothing to multiply."""
    if product.is_nothing:
        return Terms(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    return _Pricing(product, blocks, machine).terms()


class _Pricing:
    """The parts of one price."""

    def __init__(self, product: Product, blocks: Blocks, machine: Machine) -> None:
        self.p, self.blocks, self.machine, self.times = product, blocks, machine, machine.timings
        self.packs_a = blocks.packed == 2 or product.a_panels
        self.k = blocks.k or product.depth
        self.k_blocks = -(-product.depth // self.k)
        self.row_block = blocks.row_block if 0 < blocks.row_block < product.rows else product.rows
        self.width = blocks.vectors * product.lanes
        self.panels = -(-product.columns // self.width)
        self.heights = self._heights()
        self.row_tiles = sum(count for _, count in self.heights)
        self.far = machine.level_of(product.size)
        line = product.lanes * product.itemsize / machine.cache_line
        self.apart = machine.timings.apart * min(line, 1.0)  # of a vector: only the first of a line comes from afar
        self.b_bytes = self.k * product.columns * product.itemsize  # of panels, all of a block of k
        self.shared_a = product.a_parts * product.rows * product.depth * product.itemsize if blocks.shares_a else 0
        self.shared_b = product.b_parts * product.columns * product.depth * product.itemsize if blocks.shares_b else 0

    def terms(self) -> Terms:
        arithmetic = (
            self.p.folds
            * self.p.depth
            * sum(
                rows * columns * self._step(height, vectors, share)
                for height, rows in self.heights
                for vectors, share, columns in self._widths()
            )
        )
        sizes, runs = len(self.heights) * len(self._widths()), self.p.runs
        calls = self.k_blocks * self.row_tiles * self.panels * _CALL
        tiles = (calls + (sizes - 1) * _OTHER * (runs - 1) / runs) * self.times.arithmetic
        code = sizes * KIND * self.times.arithmetic / runs
        read = self.p.folds
        b = read * self._b((arithmetic + tiles + code) / read)
        return Terms(arithmetic, tiles, code, self._waiting(), self._copies(), read * self._a(), b, self._c())

    def _heights(self) -> list[tuple[int, int]]:
        """Rows of a register tile, and how many have so many."""
        found: dict[int, int] = {}
        count, rest = divmod(self.p.rows, self.row_block)
        for size, times in ((self.row_block, count), (rest, 1)):
            full, last = divmod(size, self.blocks.rows)
            for height, number in ((self.blocks.rows, full), (last, int(last > 0))):
                if number * times:
                    found[height] = found.get(height, 0) + number * times
        return list(found.items())

    def _widths(self) -> list[tuple[int, float, int]]:
        """Vectors of a register tile, what part of each is computed, and how many panels have so many."""
        full, rest = divmod(self.p.columns, self.width)
        found = [(self.blocks.vectors, 1.0, full)] if full else []
        if rest:
            narrow = not self.blocks.packed and rest <= self.p.lanes // 2
            found.append((-(-rest // self.p.lanes), 0.5 if narrow else 1.0, 1))
        return found

    def _step(self, rows: int, vectors: int, share: float) -> float:
        """One k of a register tile: multiply-adds, or loads where they take longer, or the wait for the sums."""
        times = self.times
        work = rows * vectors * share + self.p.a.converted * rows + self.p.b.converted * vectors
        loads = vectors * times.levels[Level.L1] + rows * times.broadcast
        return max(work * times.arithmetic, loads, times.latency)

    def _waiting(self) -> float:
        """A launch before packs what is shared, a task a panel, and its end is waited for: half a panel, if there are
        several workers.
        """
        p, times = self.p, self.times
        if not self.blocks.shared:
            return 0.0
        tasks = last = 0.0
        if self.shared_a:
            tasks += self._packed(p.a_parts, self.row_tiles)
            last = max(last, self._a_copies(shared=False) / self.row_tiles)
        if self.shared_b:
            tasks += self._packed(p.b_parts, self.panels)
            last = max(last, self._b_copies(shared=False) / self.panels)
        waited = last / 2 if p.workers > 1 else 0.0
        return (times.relaunch + tasks * times.task + waited) / p.runs

    def _packed(self, parts: int, panels: int) -> int:
        """Shared panels that one worker packs."""
        return -(-parts * panels // self.p.workers)

    def _fetched(self, size: int) -> float:
        """A vector of shared panels where a program reads it first; what others packed lies beyond L2."""
        level = max(self.machine.level_of(size), self.far, Level.L3 if self.p.workers > 1 else Level.L1)
        return self.times.levels[level] + _BROUGHT * self.apart if size and level > Level.L2 else 0.0

    def _a(self) -> float:
        """Each panel of B meets all rows of a block. Rows that share a set of the first cache throw each other out
        before a line is used up; rows that begin anew in each block of k are not fetched ahead.
        """
        p, machine, times = self.p, self.machine, self.times
        vectors = p.rows * p.depth / p.lanes
        size = self.row_block * self.k * p.itemsize
        if self.packs_a:
            return vectors * ((self.panels - 1) * self._near_a(size, 0.0) + self._fetched(self.shared_a))
        first = vectors * times.levels[self.far]
        again = self._near_a(size, self.apart * p.a.apart)
        height = min(self.blocks.rows, self.row_block)
        if p.a.across:
            lines = self.row_tiles * p.depth * (1.0 if p.lanes % height == 0 else 1 + (height - 1) / p.lanes)
            return first + vectors * self._crossed() + (self.panels - 1) * lines * again * _ACROSS
        begun = self.k_blocks * p.rows * self.panels * times.apart * p.a.apart * (size > machine.l1_bytes)
        in_one_set = -(-height // p.a.places(machine.cache_line))
        lost = min(max(2 * (1 - machine.l1_bytes / _PAGE / in_one_set), 0.0), 1.0)
        missed = lost * p.rows * p.depth * self.panels * (times.levels[Level.L2] - times.levels[Level.L1])
        return first + (self.panels - 1) * vectors * again + begun + missed

    def _crossed(self) -> float:
        """What a line of an A that lies across takes longer the first time: each k begins in another place."""
        p = self.p
        if self.machine.level_of(p.rows * p.depth * p.itemsize) <= Level.L2:
            return 0.0
        return self.apart * p.a.apart * (_NEAR_STEPS if p.a.step <= 2 * _PAGE else 1)

    def _near_a(self, size: int, apart: float) -> float:
        """What a line of A takes when it comes again: of what is larger than a cache some part is still there."""
        machine = self.machine
        costs = [part * figure for part, figure in zip(WAITED, self.times.levels, strict=True)]
        for level, held in zip(Level, (machine.l1_bytes, machine.l2_bytes, machine.l3_bytes), strict=False):
            if size <= 2 * held:
                gone = max(size / held - 1, 0.0)
                near = costs[level] + gone * (costs[level + 1] - costs[level])
                return near + _TURNING * apart * min(level + gone, 1.0)
        return costs[Level.MEMORY] + apart

    def _b(self, work: float) -> float:
        p, machine, times = self.p, self.machine, self.times
        vectors = p.depth * -(-p.columns // p.lanes)
        panel = self.k * self.width * p.itemsize
        passes = self.row_tiles
        if self.blocks.packed:
            whole = self.shared_b or (panel if self.row_block >= p.rows else self.b_bytes)
            rounds = -(-p.rows // self.row_block)
            levels = machine.level_of(panel), machine.level_of(whole)
            first, again = (AGAIN[level] * times.levels[level] for level in reversed(levels))
            if self.shared_b:  # what others packed is waited for in each round as lines of A are
                fetched, waited = self._fetched(self.shared_b), WAITED[levels[1]] * times.levels[levels[1]]
                return vectors * (fetched + first + (rounds - 1) * waited + (passes - rounds) * again)
            return vectors * (rounds * first + (passes - rounds) * again)
        gathers = p.lanes * times.gathered_lane if p.b.across else 0.0
        share = min(self.blocks.vectors * p.b.places(machine.cache_line) * machine.cache_line / _PAGE, 1.0)
        near = machine.level_of(panel / share)
        at_once = self.k * self.blocks.vectors
        unseen = max(_unseen(self.k), 1 - _MISSES / max(at_once, _MISSES)) * p.b.apart * self.apart
        beyond = machine.level_of(panel) > Level.L2  # even if its lines took all sets
        again = (1.0 if beyond else AGAIN[near]) * (times.levels[near] + unseen)
        first = times.levels[self.far] + unseen if self.far > Level.L2 else again
        if self.far == Level.MEMORY:
            first -= beneath(first, work / vectors, at_once)
        return vectors * (first + (passes - 1) * again + passes * gathers)

    def _c(self) -> float:
        """Sums are brought and carried back for each block of k."""
        p, times = self.p, self.times
        level = self.machine.level_of(p.rows * p.columns * p.itemsize)
        apart = self.apart * p.c.apart * _unseen(self.row_block) if level > Level.L1 else 0.0
        return self.k_blocks * p.rows * -(-p.columns // p.lanes) * (2 * times.levels[level] + apart)

    def _copies(self) -> float:
        return self._b_copies(shared=self.blocks.shares_b) + self._a_copies(shared=self.blocks.shares_a)

    def _b_copies(self, *, shared: bool) -> float:
        p, blocks = self.p, self.blocks
        if not blocks.packed:
            return 0.0
        vectors = p.depth * self.panels * blocks.vectors
        if self.shared_b:
            part = self._packed(p.b_parts, self.panels) / (self.panels * p.runs) if shared else 1.0
            return vectors * part * self._copied(p.b, p.lanes, self.shared_b, ahead=False)
        one_by_one = self.row_block >= p.rows
        ahead = one_by_one and not p.b_panels and p.rows >= _AHEAD * blocks.rows and self.panels > 1
        held = self.k * self.width * (2 if ahead else 1) * p.itemsize if one_by_one else self.b_bytes
        asked = p.depth * self.row_tiles * self.panels * _ASKED * self.times.arithmetic if ahead else 0.0
        return vectors * self._copied(p.b, p.lanes, held, ahead=ahead) + asked

    def _a_copies(self, *, shared: bool) -> float:
        p = self.p
        if not self.packs_a:
            return 0.0
        lanes = self.blocks.rows & -self.blocks.rows
        held = self.shared_a or self.k * min(self.row_block, p.rows) * p.itemsize
        part = self._packed(p.a_parts, self.row_tiles) / (self.row_tiles * p.runs) if shared else 1.0
        turned = Lines(p.a.step, not p.a.across, p.a.converted)
        return p.depth * p.rows / lanes * part * self._copied(turned, lanes, held, ahead=False)

    def _copied(self, lines: Lines, lanes: int, held: int, *, ahead: bool) -> float:
        """A vector of a panel: read, turned where it lies across, and written."""
        times, level = self.times, self.machine.level_of(held)
        read = times.levels[self.far] + self.apart * lines.apart / (self.blocks.vectors if ahead else 1)
        turning = log2(lanes) * times.arithmetic if lines.across else 0.0
        written = times.levels[level] * (_WRITTEN if level > Level.L1 else 1)
        return read + turning + written + 2 * times.arithmetic


def _unseen(runs: int) -> float:
    """Of so many runs of lines at once, how many are not fetched ahead."""
    return min(max(runs / _STREAMS - 1, 0.0), 1.0)


def beneath(first: float, work: float, at_once: int) -> float:
    """How much of bringing a vector from memory goes by beneath so much work on it, of so many at once."""
    return min(first, work) * _BENEATH * _IN_FLIGHT / (_IN_FLIGHT + at_once)
