"""Options are honoured or refused by name."""

from dataclasses import fields
from typing import Any

import pytest

from tilewright.bridge.tirx import CpuMatrixBackend, TirxOptions, TirxPlanner
from tilewright.core.errors import PlanError


@pytest.mark.parametrize(
    ("record", "option", "value"),
    [
        (TirxPlanner, "min_cpu_parallel_tasks", 0),
        (TirxPlanner, "min_cpu_parallel_tasks", True),
        (TirxPlanner, "max_cpu_stack_bytes", -1),
        (TirxPlanner, "max_cpu_stack_bytes", 65537),
        (TirxPlanner, "max_cpu_vector_lanes", 48),
        (TirxPlanner, "max_cpu_vector_lanes", 256),
        (TirxPlanner, "enabled", 1),
        (TirxOptions, "noalias", None),
        (TirxOptions, "shared_ssa", "preserve"),
        (TirxOptions, "planner", {}),
        (TirxOptions, "cpu_matrix_backend", "cblas"),
        (TirxOptions, "cpu_math_backend", CpuMatrixBackend.REFERENCE),
    ],
)
def test_a_value_out_of_range_is_refused(record: Any, option: str, value: object) -> None:
    with pytest.raises(PlanError, match=option) as caught:
        record(**{option: value})
    assert caught.value.diagnostic.code.id == "TW426"


def elsewhere() -> list[tuple[Any, str, object]]:
    records = (TirxOptions, TirxPlanner)
    return [(r, f.name, f.default) for r in records for f in fields(r) if "owner" in f.metadata]


@pytest.mark.parametrize(("record", "option", "default"), elsewhere())
def test_a_field_of_another_target_keeps_its_default_or_is_refused_by_name(
    record: Any, option: str, default: Any
) -> None:
    assert getattr(record(**{option: default}), option) == default
    other = not default if isinstance(default, bool) else default + 1 if isinstance(default, int) else "other"
    with pytest.raises(PlanError, match=option) as caught:
        record(**{option: other})
    assert caught.value.diagnostic.code.id == "TW473"


def test_options_that_need_a_plan_contradict_no_plan() -> None:
    with pytest.raises(PlanError) as caught:
        TirxOptions(planner=TirxPlanner(enabled=False, max_cpu_stack_bytes=16))
    assert caught.value.diagnostic.code.id == "TW427"


def test_wider_packs_need_packs() -> None:
    with pytest.raises(PlanError, match="auto_vectorize is False") as caught:
        TirxOptions(planner=TirxPlanner(max_cpu_vector_lanes=32))
    assert caught.value.diagnostic.code.id == "TW427"


def test_packs_need_vectors() -> None:
    with pytest.raises(PlanError, match="vectorize is False") as caught:
        TirxOptions(auto_vectorize=True, vectorize=False)
    assert caught.value.diagnostic.code.id == "TW427"


def test_every_field_of_the_tables_is_there() -> None:
    assert len(fields(TirxPlanner)) == 25
    assert len({each.name for each in fields(TirxOptions)} - {"shared_ssa"}) == 13
