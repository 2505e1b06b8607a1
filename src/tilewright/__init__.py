"""Tile kernels in Python: captured, interpreted, compiled to native code."""
