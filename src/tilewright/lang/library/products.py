"""Sums of products by a formula."""
