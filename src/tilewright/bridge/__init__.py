"""From TileIR to the representations below it."""
