"""The native CPU device."""
