"""Addresses, loads, stores, masked access, atomics. Alignment defaults to the element's size."""

from collections.abc import Sequence

from tilewright.backends.llvm.emission import Emission
from tilewright.backends.llvm.faults import misuse
from tilewright.backends.llvm.types import I1, I32, PTR, VOID, Kind, Type, structure, vector, widened
from tilewright.backends.llvm.values import Value

NONTEMPORAL = ", !nontemporal !{i32 1}"
INVARIANT = ", !invariant.load !{}"


class Memory(Emission):
    """Instructions that touch memory or compute where it is."""

    def offset(self, pointer: Value, index: Value, element: Type) -> Value:
        """The address `index` elements after `pointer`, inside the same object; an index vector gives a vector."""
        if pointer.type.kind is not Kind.POINTER or index.type.kind is not Kind.INTEGER:
            raise misuse(f"getelementptr of {pointer.type} by {index.type}")
        result = pointer.type if pointer.type.lanes else widened(PTR, index.type)
        where = f"{pointer.type.text} {pointer.ref}, {index.type.text} {index.ref}"
        return self.define(result, f"getelementptr inbounds {element.text}, {where}")

    def address(self, pointer: Value, index: Value, element: Type) -> Value:
        """As `offset`, but the address may lie anywhere (masked lanes outside the object)."""
        result = pointer.type if pointer.type.is_vector else widened(PTR, index.type)
        return self.define(result, f"getelementptr {element.text}, {pointer}, {index}")

    def byte_offset(self, pointer: Value, size_bytes: int) -> Value:
        """The address a constant number of bytes after `pointer`."""
        return self.define(PTR, f"getelementptr inbounds i8, {pointer}, i64 {size_bytes}")

    def load(self, type: Type, pointer: Value, align: int = 0, metadata: str = "") -> Value:
        """`metadata` is NONTEMPORAL or INVARIANT."""
        return self.define(type, f"load {type.text}, ptr {pointer.ref}, align {align or type.alignment}{metadata}")

    def store(self, value: Value, pointer: Value, align: int = 0, metadata: str = "") -> None:
        stored = value.type
        self.emit(f"store {stored.text} {value.ref}, ptr {pointer.ref}, align {align or stored.alignment}{metadata}")

    def alloca(self, element: Type, count: int, align: int = 64) -> Value:
        """Stack space of the function, made once at its entry."""
        return self.define_in_entry(PTR, f"alloca {element.text}, i64 {count}, align {align}")

    def masked_load(self, type: Type, pointer: Value, mask: Value, otherwise: Value, align: int = 0) -> Value:
        """Lanes of a consecutive vector where `mask`, else `otherwise`; unselected lanes touch no memory."""
        self._masked(type, mask)
        name = f"llvm.masked.load.{type.mangled}.p0"
        self.module.declare(name, type, (PTR, mask.type, type))
        where = f"ptr align {align or type.alignment} {pointer.ref}"
        return self.define(type, f"call {type.text} @{name}({where}, {mask}, {otherwise})")

    def masked_store(self, value: Value, pointer: Value, mask: Value, align: int = 0) -> None:
        self._masked(value.type, mask)
        name = f"llvm.masked.store.{value.type.mangled}.p0"
        self.module.declare(name, VOID, (value.type, PTR, mask.type))
        where = f"ptr align {align or value.type.alignment} {pointer.ref}"
        self.emit(f"call void @{name}({value}, {where}, {mask})")

    def gather(self, type: Type, pointers: Value, mask: Value, otherwise: Value, align: int = 0) -> Value:
        """One load a lane from a vector of addresses."""
        self._masked(type, mask)
        name = f"llvm.masked.gather.{type.mangled}.{pointers.type.mangled}"
        self.module.declare(name, type, (pointers.type, mask.type, type))
        where = f"{pointers.type.text} align {align or type.alignment} {pointers.ref}"
        return self.define(type, f"call {type.text} @{name}({where}, {mask}, {otherwise})")

    def scatter(self, value: Value, pointers: Value, mask: Value, align: int = 0) -> None:
        """One store a lane, in lane order where addresses coincide."""
        self._masked(value.type, mask)
        name = f"llvm.masked.scatter.{value.type.mangled}.{pointers.type.mangled}"
        self.module.declare(name, VOID, (value.type, pointers.type, mask.type))
        where = f"{pointers.type.text} align {align or value.type.alignment} {pointers.ref}"
        self.emit(f"call void @{name}({value}, {where}, {mask})")

    @staticmethod
    def _masked(type: Type, mask: Value) -> None:
        if not type.is_vector or mask.type is not vector(I1, type.lanes):
            raise misuse(f"masked access of {type} under {mask.type}")

    def copy_bytes(self, target: Value, source: Value, size_bytes: Value) -> None:
        """`memcpy` of disjoint memory."""
        self._block_intrinsic("llvm.memcpy.p0.p0.i64", (target, source, size_bytes))

    def move_bytes(self, target: Value, source: Value, size_bytes: Value) -> None:
        self._block_intrinsic("llvm.memmove.p0.p0.i64", (target, source, size_bytes))

    def fill_bytes(self, target: Value, byte: Value, size_bytes: Value) -> None:
        self._block_intrinsic("llvm.memset.p0.i64", (target, byte, size_bytes))

    def _block_intrinsic(self, name: str, operands: Sequence[Value]) -> None:
        self.module.declare(name, VOID, [*(operand.type for operand in operands), I1])
        self.emit(f"call void @{name}({', '.join(str(operand) for operand in operands)}, i1 false)")

    def load_atomic(self, type: Type, pointer: Value, ordering: str) -> Value:
        return self.define(type, f"load atomic {type.text}, {pointer} {ordering}, align {type.alignment}")

    def store_atomic(self, value: Value, pointer: Value, ordering: str) -> None:
        self.emit(f"store atomic {value}, {pointer} {ordering}, align {value.type.alignment}")

    def atomicrmw(self, operation: str, pointer: Value, value: Value, ordering: str) -> Value:
        """`operation` is LLVM's: xchg add sub and or xor max min umax umin fadd fmax fmin fmaximum fminimum."""
        return self.define(value.type, f"atomicrmw {operation} {pointer}, {value} {ordering}")

    def cmpxchg(self, pointer: Value, expected: Value, value: Value, success: str, failure: str) -> tuple[Value, Value]:
        """Strong compare and exchange: the value found, and whether the exchange happened."""
        pair = structure(value.type, I1)
        found = self.define(pair, f"cmpxchg {pointer}, {expected}, {value} {success} {failure}")
        old = self.define(value.type, f"extractvalue {found}, 0")
        return old, self.define(I1, f"extractvalue {found}, 1")

    def fence(self, ordering: str) -> None:
        self.emit(f"fence {ordering}")

    def prefetch(self, pointer: Value, locality: int = 3) -> None:
        """A read prefetch into the data cache; `locality` 3 keeps it in all levels."""
        self.module.declare("llvm.prefetch.p0", VOID, (PTR, I32, I32, I32))
        self.emit(f"call void @llvm.prefetch.p0({pointer}, i32 0, i32 {locality}, i32 1)")
