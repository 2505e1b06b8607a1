"""TileIR to verified XIR: plan() decides, lower() obeys."""
