"""The table: one record a row, and nothing that measures."""

from collections.abc import Mapping
from types import MappingProxyType

from benchmarks.rows import attentions, bounds, compiling, folds, general, launches, products
from benchmarks.rows.row import Alike, Bar, Cost, Race, Row

__all__ = ["BY_NAME", "MEANS", "ROWS", "Alike", "Bar", "Cost", "Race", "Row"]

_MODULES = (products, folds, attentions, general, launches, compiling, bounds)
ROWS: tuple[Row, ...] = tuple(row for module in _MODULES for row in module.ROWS)
BY_NAME: Mapping[str, Row] = MappingProxyType({row.name: row for row in ROWS})
MEANS: Mapping[str, float] = MappingProxyType({products.GROUP: 0.92, folds.GROUP: 0.60})
"""Bars on the geometric mean of the ratios of a group."""
