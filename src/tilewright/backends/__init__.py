"""Devices, one folder each, and the libraries they share."""
