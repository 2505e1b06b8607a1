"""The device that compiles and never runs."""
