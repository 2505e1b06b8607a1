"""The bridge from TileIR to XIR: `plan.plan` decides, `lower.kernel.lower` obeys.

It imports nothing itself: users name options at import, and need planner and lowering only when they compile.
"""
