# The part of llvmlite that tilewright uses. `llvmlite.ir` is left out on purpose: LLVM IR is written as text.
__version__: str
