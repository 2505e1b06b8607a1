"""XIR to LLVM text for CPUs: the schedule, one rule per operation, the module around them."""
