"""Library algorithms: pure expansions into core operations, one theme a file.

Half tiles are computed in f32 and rounded once, at the end. The formulas are those of the usual deep-learning
references, named where there is more than one.
"""
