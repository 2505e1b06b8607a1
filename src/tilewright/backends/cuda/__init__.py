"""The place of the CUDA device; the registry does not name it before it exists."""
