"""Five kernels from source to machine code, checked against float64: `make demo`.

Prints each kernel's TileIR and plan in short, then a table with the largest error, the bound derived for it, and the
time beside NumPy's. The exit status says whether every element is within its bound.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from rich.box import HORIZONTALS
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tilewright.backends.llvm.kernel import CpuReport
from tilewright.bridge.xir.plan import Plan
from tilewright.compile import TileKernel
from tilewright.compile import compile as compile_for
from tilewright.core.config import config
from tilewright.ir.kernel import Kernel
from tilewright.lang.signature import tensor_shape
from tilewright.runtime import Device, Shader, create_device, synchronize
from tilewright.tools.blas_threads import set_blas_threads
from tilewright.tools.demo_cases import CASES, GALLERY, Array, Case, load_kernel
from tilewright.tools.timing import race

__all__ = ["main"]

_SECONDS = 0.5  # of timing a kernel
_ROUNDS = 50


@dataclass(frozen=True, slots=True)
class Outcome:
    """One row of the table."""

    case: Case
    compile_s: float
    error: float
    bound: float
    within: bool
    ours_s: float
    numpy_s: float


def main() -> int:
    """Runs the demo. 0 when every result is within its bound."""
    console = Console(highlight=False)
    if not GALLERY.is_dir():
        console.print(f"The demo runs kernels of a checkout, and there is no {GALLERY}.", soft_wrap=True)
        return 2
    threads = config().num_threads
    equal = set_blas_threads(threads)
    outcomes = [_run(case, console) for case in CASES]
    console.print(_table(outcomes))
    blas = f"{threads} in matmul" if equal else "its BLAS's own number in matmul"
    console.print(f"threads: tilewright {threads}; NumPy {blas}, 1 elsewhere (it has no more)", style="dim")
    if all(outcome.within for outcome in outcomes):
        console.print("every element of every result is within its bound", style="bold green")
        return 0
    console.print("a result is outside of its bound", style="bold red")
    return 1


def _run(case: Case, console: Console) -> Outcome:
    kernel, inputs = load_kernel(case), case.inputs()
    start = perf_counter()
    captured = _capture(kernel, case)
    device = create_device("simd")
    shader = compile_for(device, captured)
    compile_s = perf_counter() - start
    _show(console, case, captured, shader)
    dispatched, called = _dispatch(device, shader, inputs, case), np.full(case.result, np.nan, np.float32)
    kernel(*inputs, called, **case.config)
    answer = case.exact(*inputs)
    errors = abs(called.astype(np.float64) - answer.value)
    bounded = bool(np.isfinite(answer.error).all() and (errors <= answer.error).all())
    within = bounded and np.array_equal(called, dispatched)
    worst = np.unravel_index(np.argmax(np.nan_to_num(errors, nan=np.inf)), errors.shape)
    ours_s, numpy_s = race(
        lambda: kernel(*inputs, called, **case.config), lambda: case.numpy(*inputs), _SECONDS, _ROUNDS
    )
    return Outcome(case, compile_s, float(errors[worst]), float(answer.error[worst]), within, ours_s, numpy_s)


def _capture(kernel: TileKernel, case: Case) -> Kernel:
    return kernel.capture(*(tensor_shape(*shape) for shape in (*case.shapes, case.result)), **case.config)


def _dispatch(device: Device, shader: Shader, inputs: list[Array], case: Case) -> Array:
    """The result by way of device buffers and a stream."""
    result = np.full(case.result, np.nan, np.float32)
    arguments = shader.metadata.arguments
    buffers = [device.create_buffer(each.element, int(np.prod(each.shape))) for each in arguments]
    stream = device.create_stream()
    for buffer, array in zip(buffers, [*inputs, result], strict=True):
        stream << buffer.copy_from(array)
    stream << shader(*buffers).dispatch() << buffers[-1].copy_to(result) << synchronize()
    return result


def _show(console: Console, case: Case, captured: Kernel, shader: Shader) -> None:
    sizes = " · ".join("×".join(map(str, shape)) for shape in case.shapes)
    console.rule(Text.assemble((case.title, "bold"), f"  {sizes} → {'×'.join(map(str, case.result))}"), align="left")
    _lines(console, captured.text(short=True).splitlines(), "cyan")
    _lines(console, _plan_lines(shader), "green")


def _lines(console: Console, lines: Iterable[str], style: str) -> None:
    for line in lines:
        console.print(Text(f"  {line}"), style=style, soft_wrap=True)


def _plan_lines(shader: Shader) -> Iterator[str]:
    report = shader.native.report
    if isinstance(report, CpuReport):
        plan: Plan = report.plan
        best = plan.chosen
        yield f"plan: {plan.programs} programs, {best.block} a task, {plan.tasks} tasks, lanes: {best.lanes}"
        yield f"cost: {best.terms} (relative), the least of {len(plan.candidates)} candidates"
        yield from (note for note in plan.notes if note.startswith("line "))


def _table(outcomes: list[Outcome]) -> Table:
    title = "\nfloat32, beside float64 and NumPy"
    table = Table(title=title, title_justify="left", title_style="bold", box=HORIZONTALS, padding=(0, 1, 0, 0))
    table.add_column("kernel", no_wrap=True)
    for name in ("compile\nms", "largest\nerror", "its\nbound", "ours\nms", "NumPy\nms", "NumPy\n/ ours"):
        table.add_column(name, justify="right")
    table.add_column("")
    for outcome in outcomes:
        table.add_row(*_cells(outcome))
    return table


def _cells(outcome: Outcome) -> Iterator[Any]:
    ratio = outcome.numpy_s / outcome.ours_s
    yield outcome.case.title
    yield f"{outcome.compile_s * 1e3:.0f}"
    yield f"{outcome.error:.1e}"
    yield f"{outcome.bound:.1e}"
    yield f"{outcome.ours_s * 1e3:.2f}"
    yield f"{outcome.numpy_s * 1e3:.2f}"
    yield Text(f"{ratio:.2f}", style="green" if ratio >= 1 else "yellow")
    yield Text("✓", style="bold green") if outcome.within else Text("✗", style="bold red")


if __name__ == "__main__":
    sys.exit(main())
