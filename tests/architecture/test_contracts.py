"""The import contracts of pyproject.toml: each is kept by the source, and each catches what it is there for."""

from pathlib import Path
from typing import Any

import grimp
import pytest
from importlinter import Contract
from importlinter.application.use_cases import lint_imports, read_user_options
from importlinter.configuration import configure
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.independence import IndependenceContract
from importlinter.contracts.layers import LayersContract

from tests.architecture.house import PACKAGE, ROOT

configure()
CONTRACTS: list[dict[str, Any]] = read_user_options(str(ROOT / "pyproject.toml")).contracts_options
OPTIONS = {options["id"]: options for options in CONTRACTS}
TYPES = {"layers": LayersContract, "forbidden": ForbiddenContract, "independence": IndependenceContract}

# One line in one module that must break the contract, and for each contract as many as it has meanings.
PLANTS = [
    ("layers", "core.abi", "tilewright.ir"),
    ("layers", "ir.types", "tilewright.xir"),
    ("layers", "analysis.ranges", "tilewright.interp"),
    ("layers", "interp.ops", "tilewright.lang"),
    ("layers", "bridge.xir.plan", "tilewright.runtime"),
    ("layers", "compile.call", "tilewright.backends.simd"),
    ("layers", "runtime.registry", "tilewright.backends.simd"),
    ("layers", "tools.demo", "tilewright.tile"),
    ("layers", "newcomer", "tilewright.core"),
    ("runtime-knows-no-ir", "runtime.shader", "tilewright.ir"),
    ("runtime-knows-no-ir", "runtime.shader", "xdsl"),
    ("bridges-independent", "bridge.tirx.export", "tilewright.bridge.xir"),
    ("devices-independent", "backends.cuda.device", "tilewright.backends.simd"),
    ("one-door-to-llvm", "backends.simd.device", "llvmlite"),
    ("one-door-to-llvm", "compile.call", "llvmlite"),
    ("one-door-to-tvm", "backends.cuda.device", "tvm"),
    ("one-door-to-tvm", "bridge.xir.plan", "tvm_ffi"),
    ("one-door-to-tvm", "bridge.tirx.nodes", "tvm"),
    ("core-stands-alone", "core.dtypes", "numpy"),
]


def skeleton() -> grimp.ImportGraph:
    """The folders of the package, without a single import between them."""
    graph = grimp.ImportGraph()
    graph.add_module("tilewright")
    for path in PACKAGE.rglob("__init__.py"):
        parts = path.parent.relative_to(PACKAGE.parent).parts
        graph.add_module(".".join(parts))
    graph.add_module("tilewright.tile")
    return graph


def plant(graph: grimp.ImportGraph, importer: str, imported: str) -> None:
    if not imported.startswith("tilewright."):
        graph.add_module(imported, is_squashed=True)
    graph.add_import(
        importer=f"tilewright.{importer}", imported=imported, line_number=1, line_contents=f"import {imported}"
    )


def contract(name: str) -> Contract:
    session = {"root_packages": ["tilewright"], "include_external_packages": "True"}
    return TYPES[OPTIONS[name]["type"]](name=name, session_options=session, contract_options=OPTIONS[name])


def is_kept(name: str, graph: grimp.ImportGraph) -> bool:
    return contract(name).check(graph, verbose=False).kept


def test_the_source_keeps_every_contract(tmp_path: Path) -> None:
    assert lint_imports(str(ROOT / "pyproject.toml"), cache_dir=str(tmp_path), is_debug_mode=True, no_logo=True)


@pytest.mark.parametrize("name", OPTIONS)
def test_the_empty_house_keeps_it(name: str) -> None:
    assert is_kept(name, skeleton())


@pytest.mark.parametrize(("name", "importer", "imported"), PLANTS)
def test_a_planted_import_breaks_it(name: str, importer: str, imported: str) -> None:
    graph = skeleton()
    plant(graph, importer, imported)
    assert not is_kept(name, graph)


@pytest.mark.parametrize(
    ("name", "importer", "imported"),
    [
        ("one-door-to-llvm", "backends.llvm.jit", "llvmlite"),
        ("one-door-to-tvm", "bridge.tirx.door", "tvm"),
        ("devices-independent", "backends.simd.device", "tilewright.backends.llvm"),
        ("layers", "bridge.xir.plan", "tilewright.analysis"),
    ],
)
def test_the_right_place_keeps_it(name: str, importer: str, imported: str) -> None:
    graph = skeleton()
    plant(graph, importer, imported)
    assert is_kept(name, graph)


@pytest.mark.parametrize("name", OPTIONS)
def test_it_is_planted_and_explains_itself(name: str) -> None:
    assert name in {planted for planted, _, _ in PLANTS}
    assert len(OPTIONS[name]["broken_contract_guidance"].split()) > 10


def test_every_device_and_bridge_is_in_its_contract() -> None:
    def folders(parent: str) -> set[str]:
        return {f"tilewright.{parent}.{path.parent.name}" for path in (PACKAGE / parent).glob("*/__init__.py")}

    assert folders("backends") - {"tilewright.backends.llvm"} == set(OPTIONS["devices-independent"]["modules"])
    assert folders("bridge") == set(OPTIONS["bridges-independent"]["modules"])
