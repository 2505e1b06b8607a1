"""XIR to XIR, one file a pass; `pipelines.py` holds the lists."""
