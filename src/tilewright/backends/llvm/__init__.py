"""LLVM as text: builder, target, JIT. The only importer of llvmlite."""
