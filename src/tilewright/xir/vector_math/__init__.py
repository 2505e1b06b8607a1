"""Elementary functions written in XIR: arithmetic, fused multiply-adds, bit casts and selects only."""
