"""The vocabulary every layer shares: spans, diagnostics, errors, dtypes, digests, settings, abi records.

Nothing here imports a third-party package, and nothing here imports another layer.
"""
