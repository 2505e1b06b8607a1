"""How fast, honestly: kernels beside what one would call instead, each after its answer was checked.

`python -m benchmarks --help` says what can be run; docs/performance/method.md says what the figures mean.
"""
