"""From a captured kernel and a device to a shader; direct calls."""
