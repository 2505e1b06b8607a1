"""TileIR to TIRx: one function an operation, one table of them, raw nodes only."""
