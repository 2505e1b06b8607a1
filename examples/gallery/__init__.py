"""Kernels that tests, demo and documentation share."""
