"""Pure functions over TileIR with frozen results."""
