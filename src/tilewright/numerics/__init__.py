"""Scalar semantics on NumPy arrays: one definition of every elementwise op, cast and fused multiply-add."""
