"""The table: one record a row, and nothing that measures."""

from collections.abc import Mapping
from types import MappingProxyType

from benchmarks.rows import attentions, bounds, compiling, folds, general, launches, products
from benchmarks.rows.row import Alike, Artifact, Bar, Cost, Race, Row, Trial
from benchmarks.rows.tirx import TRIALS

__all__ = ["BY_NAME", "MEANS", "ROWS", "TRIALS", "Alike", "Artifact", "Bar", "Cost", "Race", "Row", "Trial"]

_MODULES = (products, folds, attentions, general, launches, compiling, bounds)
ROWS: tuple[Row, ...] = tuple(row for module in _MODULES for row in module.ROWS)
BY_NAME: Mapping[str, Row] = MappingProxyType({row.name: row for row in (*ROWS, *TRIALS)})
MEANS: Mapping[str, float] = MappingProxyType({products.GROUP: 0.92, folds.GROUP: 0.60})
"""Bars on the geometric mean of the ratios of a group."""
