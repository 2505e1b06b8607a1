"""Measurements of this machine, each after its answer was checked: `make bench`.

Kernels beside NumPy, and beside PyTorch where it is installed; then what compiling, interpreting and importing cost.
The exit status says whether every answer was right. Times are printed and never judged.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from rich.box import HORIZONTALS
from rich.console import Console
from rich.table import Table

from tilewright import interp
from tilewright.compile import compile as compile_for
from tilewright.core.config import config
from tilewright.lang.signature import tensor_shape
from tilewright.runtime import create_device
from tilewright.tools.blas_threads import set_blas_threads
from tilewright.tools.demo_cases import CASES, GALLERY, Array, Case, load_kernel
from tilewright.tools.timing import race, seconds_of

__all__ = ["main"]

_SECONDS, _ROUNDS = 2.0, 200
_IMPORTS = 5


@dataclass(frozen=True, slots=True)
class Row:
    """Best times in seconds; `torch` is None where there is no PyTorch, or nothing of it to compare with."""

    title: str
    within: bool
    ours: float
    numpy: float
    torch: float | None


def main() -> int:
    """Measures and prints. 0 when every answer was within its bound."""
    console = Console(highlight=False)
    if not GALLERY.is_dir():
        console.print(f"The kernels are those of a checkout, and there is no {GALLERY}.", soft_wrap=True)
        return 2
    threads = config().num_threads
    if not set_blas_threads(threads):
        console.print("NumPy's BLAS decides by itself how many threads it uses", style="yellow")
    rows = [_row(case, threads) for case in _cases()]
    console.print(_speed(rows, threads))
    console.print(_costs())
    right = all(row.within for row in rows)
    console.print("every answer is within its bound" if right else "an answer is outside of its bound", style="bold")
    return 0 if right else 1


def _cases() -> Iterator[Case]:
    gemm, *others = CASES
    yield replace(gemm, title="GEMM 512³", shapes=((512, 512), (512, 512)), result=(512, 512))
    yield gemm
    yield from others


def _row(case: Case, threads: int) -> Row:
    kernel, inputs, result = load_kernel(case), case.inputs(), np.full(case.result, np.nan, np.float32)

    def ours() -> None:
        kernel(*inputs, result, **case.config)

    ours()
    answer = case.exact(*inputs)
    within = bool((abs(result - answer.value) <= answer.error).all())
    our_s, numpy_s = race(ours, lambda: case.numpy(*inputs), _SECONDS, _ROUNDS)
    other = _torch_call(case, inputs, threads)
    torch_s = None if other is None else race(ours, other, _SECONDS, _ROUNDS)[1]
    return Row(case.title, within, our_s, numpy_s, torch_s)


def _torch_call(case: Case, inputs: list[Array], threads: int) -> Callable[[], object] | None:
    if find_spec("torch") is None:
        return None
    torch: Any = import_module("torch")
    torch.set_num_threads(threads)
    tensors = [torch.from_numpy(x) for x in inputs]
    functional = torch.nn.functional
    calls: dict[str, Callable[[], object]] = {
        "gemm": lambda: torch.matmul(*tensors),
        "softmax": lambda: torch.softmax(tensors[0], -1),
        "bias_gelu_residual": lambda: functional.gelu(tensors[0] + tensors[1], approximate="tanh") + tensors[2],
        "layer_norm": lambda: functional.layer_norm(tensors[0], tensors[1].shape, *tensors[1:]),
        "attention": lambda: functional.scaled_dot_product_attention(*tensors, is_causal=True),
    }
    return calls[case.kernel]


def _speed(rows: list[Row], threads: int) -> Table:
    table = Table(title=f"\nfloat32, {threads} threads, best times in ms", title_justify="left", box=HORIZONTALS)
    table.add_column("kernel", no_wrap=True)
    for name in ("ours", "NumPy", "ours / NumPy", "torch", "ours / torch", "right"):
        table.add_column(name, justify="right")
    for row in rows:
        beside = [f"{row.torch * 1e3:.3f}", f"{row.ours / row.torch:.2f}"] if row.torch else ["–", "–"]
        times = [f"{row.ours * 1e3:.3f}", f"{row.numpy * 1e3:.3f}", f"{row.ours / row.numpy:.2f}"]
        table.add_row(row.title, *times, *beside, "✓" if row.within else "✗")
    return table


def _costs() -> Table:
    table = Table(title="\nwhat else takes time, in s", title_justify="left", box=HORIZONTALS)
    table.add_column("")
    table.add_column("s", justify="right")
    for case in CASES:
        table.add_row(f"capture and compile {case.title}", f"{_compile_seconds(case):.3f}")
    for title, case in _interpreted():
        table.add_row(f"interpret {title}", f"{_interpret_seconds(case):.3f}")
    table.add_row(f"import tilewright, the best of {_IMPORTS}", f"{min(map(_import_seconds, range(_IMPORTS))):.3f}")
    return table


def _interpreted() -> Iterator[tuple[str, Case]]:
    gemm, softmax = CASES[0], CASES[2]
    yield "GEMM 128³", replace(gemm, shapes=((128, 128), (128, 128)), result=(128, 128))
    yield "softmax 1024×1024", softmax


def _captured(case: Case) -> Any:
    return load_kernel(case).capture(*(tensor_shape(*x) for x in (*case.shapes, case.result)), **case.config)


def _compile_seconds(case: Case) -> float:
    device = create_device("simd")
    return seconds_of(lambda: compile_for(device, _captured(case), cache=False))


def _interpret_seconds(case: Case) -> float:
    kernel, arrays = _captured(case), [*case.inputs(), np.zeros(case.result, np.float32)]
    return seconds_of(lambda: interp.run(kernel, arrays))


def _import_seconds(_: int) -> float:
    command = [sys.executable, "-X", "importtime", "-c", "import tilewright"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stderr.splitlines()
    last = [line for line in lines if line.rstrip().endswith("| tilewright")][-1]
    return int(last.split("|")[1]) / 1e6


if __name__ == "__main__":
    sys.exit(main())
