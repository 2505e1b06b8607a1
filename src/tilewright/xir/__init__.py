"""XIR: mutable SSA below tiles, its verifier, text, passes and interpreter."""
