"""Devices, buffers, streams, commands and shaders."""
