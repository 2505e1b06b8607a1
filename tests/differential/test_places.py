"""Keeping a tile and computing it again give the same bits, in lanes of programs and of elements."""

import pytest

from examples.gallery import ENTRIES
from tests.differential.gallery.test_gallery import launched
from tilewright.backends.llvm.kernel import compile_kernel
from tilewright.bridge.xir.options import PROGRAM, Program, Use, XirOptions
from tilewright.core.abi import CompileOptions

NAMES = (
    "residual_layer_norm",
    "masked_softmax",
    "swiglu",
    "causal_attention",
    "mlp",
    "depthwise_pool",
    "median",
    "sobel",
)


@pytest.mark.parametrize("lanes", [None, PROGRAM])
@pytest.mark.parametrize("name", NAMES)
def test_places_change_no_bit(name: str, lanes: Program | None) -> None:
    def results(recompute: Use | None) -> list[bytes]:
        options = CompileOptions(xir=XirOptions(recompute=recompute, lanes=lanes))
        return [each.tobytes() for each in launched(ENTRIES[name], compile_kernel(ENTRIES[name].capture(), options), 1)]

    assert results(Use.WHEREVER_LEGAL) == results(Use.NEVER) == results(None)
