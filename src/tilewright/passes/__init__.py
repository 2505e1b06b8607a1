"""TileIR to TileIR, one file a pass."""
