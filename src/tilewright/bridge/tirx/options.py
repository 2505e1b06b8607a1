"""What a user may fix about the TIRx of a kernel: every option has a default, a range, and a reason to be refused.

The records have the fields of the specification. A field of another target, or one whose pass this route does not
have, keeps its default or is refused by name: nothing that is asked for is ignored.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any

from tilewright.bridge.tirx.providers.choices import CpuMathBackend, CpuMatrixBackend
from tilewright.bridge.tirx.sharing import SharedSSA
from tilewright.core.codes.unsupported import BAD_PLAN_OPTION, OPTION_NOT_ON_TARGET, PLAN_CONFLICT
from tilewright.core.errors import PlanError
from tilewright.core.source import user_span

__all__ = ["LANES", "TirxOptions", "TirxPlanner"]

LANES = 16
"""Elements of a pack unless more are allowed: those of one vector."""
_MOST_STACK = 65536


def _option(default: Any, allowed: str, admits: Callable[[Any], bool]) -> Any:
    """A field that this route honours."""
    return field(default=default, metadata=_range(allowed, admits))


def _range(allowed: str, admits: Callable[[Any], bool]) -> Mapping[str, Any]:
    return {"allowed": allowed, "admits": admits}


def _flag(default: bool) -> Any:  # noqa: FBT001  a table of defaults
    return _option(default, "True or False", lambda value: isinstance(value, bool))


def _only(owner: str, default: object) -> Any:
    """A field that belongs to `owner`; here it has its default or is refused."""
    return field(default=default, metadata={"owner": owner, "default": default})


def _one_of(kind: type[Enum]) -> Mapping[str, Any]:
    return _range(f"a {kind.__name__}", lambda value: isinstance(value, kind))


def _within(low: int, high: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _is_lanes(value: Any) -> bool:
    return isinstance(value, int) and value in (16, 32, 64, 128)


@dataclass(frozen=True, slots=True)
class TirxPlanner:
    """How the TIRx is realised. A value out of range is refused with PlanError (TW426), one of another target with
    TW473.

    `enabled` False asks for the reference policy everywhere: every root runs on the pool, nothing is planned.
    `min_cpu_parallel_tasks` is the extent from which a cheap root runs on the pool. `max_cpu_stack_bytes` is how much
    temporary storage may lie on the stack of a worker, each buffer charged in steps of 16 bytes. `max_cpu_vector_lanes`
    is how many elements a pack may have: more than 16 are several rows, which share an ordered loop.
    """

    enabled: bool = _flag(True)
    min_cpu_parallel_tasks: int = _option(64, "at least 1", _within(1, 1 << 62))
    max_cpu_stack_bytes: int = _option(0, f"0 to {_MOST_STACK}", _within(0, _MOST_STACK))
    max_cpu_vector_lanes: int = _option(LANES, "16, 32, 64 or 128", _is_lanes)
    fuse_gpu_elementwise: bool = _only("GPU targets", True)
    map_gpu_cooperative_programs: bool = _only("GPU targets", True)
    metal_subgroup_reductions: bool = _only("the target metal", False)
    reduction_programs_per_group: int = _only("the target metal", 0)
    reduction_unroll_factor: int = _only("the target metal", 1)
    reduction_lane_elements: int = _only("the target metal", 1)
    cache_reduction_inputs: bool = _only("the target metal", False)
    retain_accumulators: bool = _only("GPU targets", True)
    direct_accumulator_store: bool = _only("GPU targets", True)
    coalesce_group_barriers: bool = _only("GPU targets", True)
    elide_independent_subgroup_barriers: bool = _only("the target metal", False)
    threads_per_group: int = _only("GPU targets", 0)
    program_order_rows: int = _only("the target metal", 1)
    program_order_columns: int = _only("the target metal", 1)
    fuse_matrix_epilogues: bool = _only("the target metal", False)
    max_fragment_scalars_per_lane: int = _only("the target metal", 64)
    max_reduction_striped_scalars_per_worker: int = _only("GPU targets", 64)
    max_thread_candidates: int = _only("GPU targets", 32)
    max_copy_batch: int = _only("GPU targets", 1)
    max_pipeline_prefetch_scalars_per_lane: int = _only("GPU targets", 32)
    cost_policy: object | None = _only("GPU targets", None)

    def __post_init__(self) -> None:
        _check(self, "planner.")


def _is_shared_ssa(value: Any) -> bool:
    return isinstance(value, SharedSSA)


def _is_planner(value: Any) -> bool:
    return isinstance(value, TirxPlanner)


@dataclass(frozen=True, slots=True)
class TirxOptions:
    """Options of the lowering TIRX.

    `noalias` is the caller's promise that what is written overlaps no other argument. `shared_ssa` says which tiles
    with several readers are computed once. `auto_vectorize` makes packs, which `vectorize=False` forbids.
    `forward_readonly_tile_loads` reads arguments where their tiles are used; `eliminate_common_subexpressions` lets TVM
    merge equal arithmetic where that cannot trap. `cpu_matrix_backend` and `cpu_math_backend` let outside code compute
    what is proved to be its function; CBLAS needs `noalias`.

    Raises PlanError: TW426 for a value out of range, TW473 for a field of another target or of a pass that this route
    does not have, TW427 for options that contradict each other.
    """

    noalias: bool = _flag(False)
    shared_ssa: SharedSSA = field(default=SharedSSA.PRESERVE, metadata=_range("a SharedSSA", _is_shared_ssa))
    planner: TirxPlanner = field(default_factory=TirxPlanner, metadata=_range("a TirxPlanner", _is_planner))
    target: str = _only("GPU targets", "llvm")
    host: str = _only("GPU targets", "llvm")
    pipeline: str = _only("modules with tile primitives", "standard")
    vectorize: bool = _flag(True)
    auto_vectorize: bool = _flag(False)
    cpu_matrix_backend: CpuMatrixBackend = field(default=CpuMatrixBackend.REFERENCE, metadata=_one_of(CpuMatrixBackend))
    cpu_math_backend: CpuMathBackend = field(default=CpuMathBackend.REFERENCE, metadata=_one_of(CpuMathBackend))
    eliminate_common_subexpressions: bool = _flag(True)
    forward_readonly_tile_loads: bool = _flag(False)
    cooperative_matrix: bool = _only("the target metal", False)
    metal_mpp: bool = _only("the target metal", False)

    def __post_init__(self) -> None:
        _check(self, "")
        for option, asked, what, met, but in self._needs():
            if asked and not met:
                raise PlanError(PLAN_CONFLICT.at(user_span(), conflict=f"{option} {what}, and {but} is False"))

    def _needs(self) -> Iterator[tuple[str, object, str, bool, str]]:
        """What each option that was asked for does, and the option that it cannot do without."""
        planned = self.planner.enabled, "planner.enabled"
        yield "planner.max_cpu_stack_bytes", self.planner.max_cpu_stack_bytes, "plans storage", *planned
        yield "auto_vectorize", self.auto_vectorize, "plans packs", *planned
        yield "auto_vectorize", self.auto_vectorize, "makes vectors", self.vectorize, "vectorize"
        packed, wider = (self.auto_vectorize, "auto_vectorize"), self.planner.max_cpu_vector_lanes != LANES
        yield "planner.max_cpu_vector_lanes", wider, "widens packs", *packed
        cblas = self.cpu_matrix_backend is CpuMatrixBackend.CBLAS
        yield "cpu_matrix_backend=CBLAS", cblas, "may not read what it writes", self.noalias, "noalias"
        yield "forward_readonly_tile_loads", self.forward_readonly_tile_loads, "reads later", self.noalias, "noalias"


def _check(record: Any, prefix: str) -> None:
    for each in fields(record):
        value, facts = getattr(record, each.name), each.metadata
        option = prefix + each.name
        if "owner" in facts and (value != facts["default"] or type(value) is not type(facts["default"])):
            raise PlanError(
                OPTION_NOT_ON_TARGET.at(
                    user_span(), option=option, value=value, owner=facts["owner"], default=facts["default"]
                )
            )
        if "admits" in facts and not facts["admits"](value):
            raise PlanError(BAD_PLAN_OPTION.at(user_span(), option=option, value=value, allowed=facts["allowed"]))
