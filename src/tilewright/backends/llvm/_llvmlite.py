"""The one import of llvmlite. Import this module inside functions only: it costs 50 ms.

Importing it raises ToolchainError (TW513) if llvmlite cannot be loaded.
"""

from tilewright.core.codes.toolchain import LLVM_MISSING
from tilewright.core.errors import ToolchainError
from tilewright.core.source import UNKNOWN

try:
    import llvmlite
    import llvmlite.binding as llvm
except (ImportError, OSError) as error:
    raise ToolchainError(LLVM_MISSING.at(UNKNOWN, reason=str(error))) from error

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()

VERSION = f"llvmlite {llvmlite.__version__}, LLVM {'.'.join(map(str, llvm.llvm_version_info))}"

__all__ = ["VERSION", "llvm"]
