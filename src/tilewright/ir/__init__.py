"""TileIR: the typed meaning of a tile kernel, as an xDSL dialect."""
