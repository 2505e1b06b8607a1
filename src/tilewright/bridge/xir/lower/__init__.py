"""TileIR and a plan, turned into XIR. Decides nothing: every choice is read from the plan."""
