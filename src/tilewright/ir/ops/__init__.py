"""The operations of TileIR, one class each."""
