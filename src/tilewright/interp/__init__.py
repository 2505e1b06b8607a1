"""The meaning of TileIR on NumPy."""
