"""Closed folds with lanes along the folded dimension: partial accumulators, one combine, the seed exactly once.

Partials start from the exact identity of the operation (-0 for a float sum), so they stand for no extra contribution.
A float maximum keeps a mask of NaNs beside the running value, since a comparison that propagates them costs several
times as much.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilewright.analysis.folds import ClosedFold
from tilewright.bridge.xir.lower.access import store_to_storage
from tilewright.bridge.xir.lower.context import Lowering, Val, register_type, storage_type
from tilewright.bridge.xir.lower.coords import Coord
from tilewright.bridge.xir.lower.elementwise import RULES
from tilewright.bridge.xir.lower.nests import At, extents_of, run_nest
from tilewright.bridge.xir.lower.values import run_inner_regions, scalar_value, settle_scalars
from tilewright.bridge.xir.records import NestPlan, Storage
from tilewright.core.dtypes import DType, FloatType, IntType
from tilewright.ir.ops import elementwise as ops
from tilewright.ir.types import dtype_of, element_of
from tilewright.xir.types import I1, vector_of

__all__ = ["fold_to_storage"]


@dataclass(frozen=True)
class _Merge:
    """How partial results of one operation are kept and combined."""

    dtype: type[DType]
    name: str
    lanes_kind: str

    @property
    def masks_nans(self) -> bool:
        return self.dtype.kind == "float" and self.name in ("max", "min")


_RULE_OF = {
    "add": ops.AddOp,
    "mul": ops.MulOp,
    "max": ops.MaxOp,
    "min": ops.MinOp,
    "and": ops.AndOp,
    "or": ops.OrOp,
    "xor": ops.XorOp,
    "logical_and": ops.LogicalAndOp,
    "logical_or": ops.LogicalOrOp,
}
_LANES_KIND = {
    ("float", "add"): "addf",
    ("float", "mul"): "mulf",
    ("float", "max"): "maximumf",
    ("float", "min"): "minimumf",
    ("int", "max"): "maxsi",
    ("int", "min"): "minsi",
    ("uint", "max"): "maxui",
    ("uint", "min"): "minui",
}
_LANES_ANY = {
    "add": "addi",
    "mul": "muli",
    "and": "andi",
    "or": "ori",
    "xor": "xori",
    "logical_and": "andi",
    "logical_or": "ori",
}


def merge_of(fold: ClosedFold) -> _Merge:
    """The combination of a closed fold."""
    dtype = dtype_of(element_of(fold.map.result))
    kind = _LANES_KIND.get((dtype.kind, fold.merge)) or _LANES_ANY[fold.merge]
    return _Merge(dtype, fold.merge, kind)


def identity_of(merge: _Merge) -> float | int:
    """The value that changes nothing when merged, exactly."""
    dtype = merge.dtype
    if merge.name in ("max", "min"):
        return _extreme(dtype, lowest=merge.name == "max")
    if merge.name == "add":
        return -0.0 if dtype.kind == "float" else 0
    return {"mul": 1, "and": -1, "logical_and": -1}.get(merge.name, 0)


def _extreme(dtype: type[DType], *, lowest: bool) -> float | int:
    if issubclass(dtype, FloatType):
        return float("-inf") if lowest else float("inf")
    if issubclass(dtype, IntType):
        return dtype.min if lowest else dtype.max
    return 0 if lowest else -1


def fold_to_storage(cx: Lowering, fold: ClosedFold, storage: Storage, nest: NestPlan) -> None:
    """Fold every kept point into its element of the buffer."""
    kept = [axis.dim.number for axis in fold.map.space.axes]
    extents = extents_of(fold.map.space, fold.reduce.space)
    outer = NestPlan("fold", tuple(kept), None, nest.width)

    def body(at: At) -> None:
        value = _FoldAt(cx, fold, nest, extents, at).value()
        store_to_storage(cx, storage, storage.dims, tuple(at[dim] for dim in storage.dims), value)

    run_nest(cx, outer, extents, body)


@dataclass
class _FoldAt:
    """The fold of one kept point."""

    cx: Lowering
    fold: ClosedFold
    nest: NestPlan
    extents: Mapping[int, int]
    at: At

    def value(self) -> Val:
        cx, merge = self.cx, merge_of(self.fold)
        kept = [self.at[axis.dim.number] for axis in self.fold.map.space.axes]
        with cx.scope(dict(zip(self.fold.map.body.block.args, kept, strict=True))):
            init = cx.ssa(scalar_value(cx, self.fold.init))
            settle_scalars(cx, self.fold.reduce)
            folded = self._folded(merge)
        result = self._rounded(merge, RULES[_RULE_OF[merge.name]](cx.builder, merge.dtype, [init, folded]))
        return Coord(result) if merge.dtype.name == "i64" else result

    def _folded(self, merge: _Merge) -> SSAValue:
        """The fold without its seed: loops over the other folded dimensions, lanes along the innermost."""
        width = self.nest.width
        lanes = self.extents[self.nest.axes[-1]]
        partials = max(1, min(self.cx.plan.options.fold_partials, lanes // width))
        start = self._start(merge) * partials
        others = [dim for dim in self.nest.axes[:-1] if dim not in self.at]
        final = self._over(merge, others, dict(self.at), start)
        return self._combined(merge, final, partials)

    def _start(self, merge: _Merge) -> tuple[SSAValue, ...]:
        b, width = self.cx.builder, self.nest.width
        accumulator = b.const(vector_of(register_type(merge.dtype), width), identity_of(merge))
        return (accumulator, b.const(vector_of(I1, width), 0)) if merge.masks_nans else (accumulator,)

    def _over(
        self, merge: _Merge, others: Sequence[int], at: dict[int, Coord], carries: tuple[SSAValue, ...]
    ) -> tuple[SSAValue, ...]:
        if not others:
            return self._along_lanes(merge, at, carries)
        with self.cx.loop(0, self.extents[others[0]], 1, carries) as loop:
            inner = {**at, others[0]: Coord(loop.index)}
            loop.yield_(self._over(merge, others[1:], inner, loop.carries))
        return loop.results

    def _along_lanes(self, merge: _Merge, at: dict[int, Coord], carries: tuple[SSAValue, ...]) -> tuple[SSAValue, ...]:
        width, lane = self.nest.width, self.nest.axes[-1]
        extent = self.extents[lane]
        size = 2 if merge.masks_nans else 1
        partials = len(carries) // size
        done = 0
        for copies in dict.fromkeys((partials, 1)):
            stride = copies * width
            whole = (extent - done) // stride * stride
            if whole:
                carries = self._strided(merge, at, lane, carries, (done, done + whole, copies))
                done += whole
        if done < extent:
            carries = self._tail(merge, {**at, lane: Coord(self.cx.builder.i64(done), 1)}, carries, extent - done)
        return carries

    def _strided(
        self,
        merge: _Merge,
        at: dict[int, Coord],
        lane: int,
        carries: tuple[SSAValue, ...],
        span: tuple[int, int, int],
    ) -> tuple[SSAValue, ...]:
        """`copies` neighbouring vectors a trip, each into a partial of its own."""
        start, stop, copies = span
        width = self.nest.width
        size = 2 if merge.masks_nans else 1
        with self.cx.loop(start, stop, copies * width, carries) as loop:
            following = list(loop.carries)
            for copy in range(copies):
                coord = Coord(self.cx.builder.add(loop.index, copy * width), 1)
                place = slice(copy * size, (copy + 1) * size)
                following[place] = self._merged(merge, following[place], self._element({**at, lane: coord}))
            loop.yield_(following)
        return loop.results

    def _tail(
        self, merge: _Merge, at: dict[int, Coord], carries: tuple[SSAValue, ...], count: int
    ) -> tuple[SSAValue, ...]:
        """Lanes past the end do not exist: they contribute the identity."""
        b, width = self.cx.builder, self.nest.width
        with self.cx.lanes_active(count):
            element = self._element(at)
        absent = b.const(element.type, identity_of(merge))
        element = b.select(b.first_lanes(count, width), element, absent)
        size = 2 if merge.masks_nans else 1
        return (*self._merged(merge, carries[:size], element), *carries[size:])

    def _element(self, at: At) -> SSAValue:
        """One vector of contributions."""
        cx, reduce = self.cx, self.fold.reduce
        point = [at[axis.dim.number] for axis in reduce.space.axes]
        with cx.scope(dict(zip(reduce.indices, point, strict=True))):
            run_inner_regions(cx, reduce.body.block)
            return cx.vectorised(cx.ssa(scalar_value(cx, self.fold.element)), self.nest.width)

    def _merged(self, merge: _Merge, carries: Sequence[SSAValue], element: SSAValue) -> list[SSAValue]:
        b = self.cx.builder
        if not merge.masks_nans:
            rule = RULES[_RULE_OF[merge.name]]
            return [self._rounded(merge, rule(b, merge.dtype, [carries[0], element]))]
        better = b.fcmp("ogt" if merge.name == "max" else "olt", element, carries[0])
        nans = b.or_(carries[1], b.fcmp("uno", element, element))
        return [b.select(better, element, carries[0]), nans]

    def _rounded(self, merge: _Merge, value: SSAValue) -> SSAValue:
        """Half types are rounded after every step."""
        if merge.dtype.name not in ("f16", "bf16") or merge.masks_nans:
            return value
        b = self.cx.builder
        return b.extf(b.truncf(value, storage_type(merge.dtype)), register_type(merge.dtype))

    def _combined(self, merge: _Merge, carries: tuple[SSAValue, ...], partials: int) -> SSAValue:
        """All partials in one vector, all lanes in one scalar."""
        b = self.cx.builder
        size = 2 if merge.masks_nans else 1
        groups = [list(carries[i * size : (i + 1) * size]) for i in range(partials)]
        while len(groups) > 1:
            pairs = zip(groups[::2], groups[1::2], strict=False)
            odd = groups[-1:] if len(groups) % 2 else []
            groups = [self._joined(merge, left, right) for left, right in pairs] + odd
        value = b.fold_lanes(merge.lanes_kind, groups[0][0])
        if not merge.masks_nans:
            return value
        any_nan = b.fold_lanes("ori", groups[0][1])
        return b.select(any_nan, b.const(value.type, float("nan")), value)

    def _joined(self, merge: _Merge, left: list[SSAValue], right: list[SSAValue]) -> list[SSAValue]:
        joined = self._merged(merge, left, right[0])
        if merge.masks_nans:
            joined[1] = self.cx.builder.or_(left[1], right[1])
        return joined
