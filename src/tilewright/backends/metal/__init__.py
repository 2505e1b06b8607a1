"""The place of the Metal device; the registry does not name it before it exists."""
