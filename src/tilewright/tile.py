"""The public names of the tile language."""
