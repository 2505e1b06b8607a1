"""Outside code that may compute a part of a kernel: only where it is asked for, and only what is proved twice."""
