"""Buffers and loop nests: which dimension is innermost in each buffer, and along which one each nest is vectorised."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Operation, SSAValue

from tilewright.bridge.xir.placement import Placement
from tilewright.bridge.xir.records import LaneChoice, NestPlan, Storage, TurnPrices, Unturned
from tilewright.bridge.xir.squares import refused_squares, squares_of, turn_price
from tilewright.bridge.xir.streams import Stream, streams
from tilewright.core.machine import Machine
from tilewright.ir.ops.access import StoreOp
from tilewright.ir.types import AxisAttr, SpaceAttr, dtype_of, element_of, space_of, view_type

__all__ = ["Layouts", "nest_plan", "width_for"]


@dataclass
class Layouts:
    """Buffers found so far, by owner number."""

    placement: Placement
    machine: Machine
    choice: LaneChoice
    storages: dict[int, Storage]

    def storage_of(self, value: SSAValue) -> Storage | None:
        """The buffer of a tile, laid out on first use; None for an inline tile."""
        place = self.placement.places.get(value)
        if place is None or place.storage is None:
            return None
        if place.storage not in self.storages:
            # What reads a buffer while its order is being chosen, as an update in place does, sees the written order.
            self.storages[place.storage] = self._in_order(place.storage, value, None)
            self.storages[place.storage] = self._laid_out(place.storage, value)
        return self.storages[place.storage]

    def _laid_out(self, owner: int, value: SSAValue) -> Storage:
        members = [item for item, place in self.placement.places.items() if place.storage == owner]
        demanded = [dim for item in members if (dim := self.placement.demands.get(item)) is not None]
        inner = demanded[0] if demanded else self._preferred(members, space_of(value))
        return self._in_order(owner, value, inner)

    def _in_order(self, owner: int, value: SSAValue, inner: int | None) -> Storage:
        """The axes as written, with `inner` moved innermost."""
        dims = [axis.dim.number for axis in space_of(value).axes]
        if inner in dims:
            dims.remove(inner)
            dims.append(inner)
        return make_storage(owner, value, dims, padding=self._padding(value))

    def _preferred(self, members: Sequence[SSAValue], space: SpaceAttr) -> int | None:
        """The cheapest lane dimension of the nest that computes one of the members; the last axis otherwise."""
        for value in members:
            if isinstance(value.owner, Operation):
                lane = cheapest_lane(self, [value], space)
                if lane is not None:
                    return lane
        return space.axes[-1].dim.number if space.rank else None

    def _padding(self, value: SSAValue) -> int:
        return 1 if self.choice.program else width_for(self.machine, self.choice, [value])


def make_storage(owner: int, value: SSAValue, dims: list[int], padding: int) -> Storage:
    """Strides of a buffer whose innermost rows are padded to whole vectors."""
    extents = {axis.dim.number: axis.extent for axis in space_of(value).axes}
    strides: list[int] = []
    step = 1
    for place, dim in enumerate(reversed(dims)):
        strides.append(step)
        extent = max(extents[dim], 1)
        step *= -(-extent // padding) * padding if place == 0 else extent
    step = max(step, padding)
    return Storage(
        owner=owner,
        dtype=dtype_of(element_of(value)).name,
        dims=tuple(dims),
        extents=tuple(extents[dim] for dim in dims),
        strides=tuple(reversed(strides)),
        size=step,
    )


def width_for(machine: Machine, choice: LaneChoice, values: Sequence[SSAValue]) -> int:
    """How many lanes a nest over these tiles uses: registers full of their widest element, 32 bits at least."""
    if choice.width:
        return choice.width
    bits = max((dtype_of(element_of(value)).bits for value in values), default=32)
    return max(machine.vector_bits // max(bits, 32), 1)


def cheapest_lane(layouts: Layouts, values: Sequence[SSAValue], space: SpaceAttr) -> int | None:
    """The dimension along which computing `values` touches memory most cheaply; None when nothing is wider than 1."""
    wide = [axis for axis in space.axes if axis.extent > 1]
    if layouts.choice.program or not wide:
        return None
    fixed = [axis for axis in wide if axis.dim.number in layouts.choice.fixed]
    candidates = fixed or list(reversed(wide))
    return min(candidates, key=lambda axis: lane_price(layouts, values, axis, space)).dim.number


def lane_price(layouts: Layouts, values: Sequence[SSAValue], axis: AxisAttr, space: SpaceAttr) -> float:
    """Vector operations that the memory accesses of a nest take with lanes along `axis`."""
    width = width_for(layouts.machine, layouts.choice, values)
    vectors = space.volume // max(axis.extent, 1) * -(-axis.extent // width)
    return vectors * sum(
        access_weight(stream, width) for value in values for stream in streams(layouts, value, axis.dim)
    )


def access_weight(stream: Stream, width: int) -> float:
    """The relative cost of one vector access by its stride along the lanes."""
    if stream.stride == 0:
        return 0.5
    return 1.0 if stream.stride == 1 else float(width)


def nest_plan(
    layouts: Layouts, what: str, values: Sequence[SSAValue], space: SpaceAttr, store: StoreOp | None = None
) -> NestPlan:
    """The loop order of one nest: written order, with the lane dimension moved innermost, or squares of two."""
    width = width_for(layouts.machine, layouts.choice, values)
    plain = NestPlan(what, tuple(axis.dim.number for axis in space.axes), None, width)
    wide = [axis for axis in space.axes if axis.extent > 1]
    if layouts.choice.program or not wide:
        return plain
    fixed = [axis for axis in wide if axis.dim.number in layouts.choice.fixed]
    found: list[tuple[float, NestPlan]] = []
    for axis in fixed or list(reversed(wide)):
        nest, price = _along(plain, axis), nest_price(layouts, values, axis, space, store)
        found.append((price, nest))
        if len(values) == 1:
            found += _turned(price, squares_of(layouts, layouts.placement, values[0], nest), space)
    asked = [each for each in found if each[1].across is not None and layouts.placement.options.squares is not None]
    weighed = tuple((nest.lane, price) for price, nest in found if nest.across is None and nest.lane is not None)
    best = replace(min(asked or found, key=lambda each: each[0])[1], weighed=weighed)
    if len(values) > 1:
        return best
    refused = refused_squares(layouts, layouts.placement, values[0], best)
    lost = min((each for each in found if each[1].across is not None), key=lambda each: each[0], default=None)
    if refused.refused is not Unturned.EMPTY or lost is None:
        return refused
    return replace(refused, turn_prices=lost[1].turn_prices)


def _turned(gathers: float, squares: list[NestPlan], space: SpaceAttr) -> Iterator[tuple[float, NestPlan]]:
    """The price of each nest in squares, beside that of the same one by gathers."""
    for square in squares:
        price = gathers + turn_price(square, space)
        yield price, replace(square, turn_prices=TurnPrices(price, gathers))


def _along(nest: NestPlan, axis: AxisAttr) -> NestPlan:
    lane = axis.dim.number
    return replace(nest, axes=(*(dim for dim in nest.axes if dim != lane), lane), lane=lane)


def nest_price(
    layouts: Layouts, values: Sequence[SSAValue], axis: AxisAttr, space: SpaceAttr, store: StoreOp | None
) -> float:
    """Vector operations that a nest with lanes along `axis` takes to read what it computes from, and to write it."""
    width = width_for(layouts.machine, layouts.choice, values)
    vectors = space.volume // max(axis.extent, 1) * -(-axis.extent // width)
    stride = _target_stride(layouts, values[0], axis, store)
    return lane_price(layouts, values, axis, space) + vectors * access_weight(Stream(stride), width)


def _target_stride(layouts: Layouts, value: SSAValue, axis: AxisAttr, store: StoreOp | None) -> int | None:
    if store is not None:
        return view_type(store.view).strides[space_of(value).dims.index(axis.dim)]
    storage = layouts.storage_of(value)
    return None if storage is None else storage.stride_of(axis.dim.number)
