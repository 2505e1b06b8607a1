"""Counts of instructions, and the loops that are machine code themselves."""

import pytest

from benchmarks.code import Code, counted, executable_bytes
from benchmarks.native import ACCUMULATORS, launches, launches_module, peak_loop, peak_module
from tilewright.backends.llvm.jit import assembly, compile_object
from tilewright.backends.llvm.target import Target

TEXT = """
	.text
cold:
	vaddps	%zmm0, %zmm1, %zmm2
	retq
hot:
	vmovups	(%rsi), %zmm0
	vmovups	64(%rsp), %zmm4
.LBB1_1:
	vfmadd231ps	(%rdx,%rcx,4){1to16}, %zmm0, %zmm1
	vfmadd231ps	%zmm2, %zmm0, %zmm3
	movq	(%rsp), %rax
	vmovups	%zmm4, 128(%rsp)
	vmovups	%zmm1, (%rdi) {%k1}
	jmp	.LBB1_1
"""


def test_the_hot_function_is_counted() -> None:
    expected = Code("hot", instructions=6, fmas=2, loads=3, stores=2, spills=2, size=99)
    assert counted(TEXT, 99) == expected


def test_the_size_is_that_of_the_code_sections() -> None:
    small, large = (compile_object(peak_module(lanes)) for lanes in (4, 4096 // 32))
    assert 0 < executable_bytes(small) < executable_bytes(large)
    assert executable_bytes(b"\xcf\xfa\xed\xfe" + bytes(60)) == 0


@pytest.mark.parametrize(("cpu", "lanes"), [("x86-64-v4", 16), ("x86-64-v3", 8)])
def test_the_peak_loop_is_multiply_adds(cpu: str, lanes: int) -> None:
    """16 registers do not hold 24 accumulators; on those machines the loop reloads, and the page says so."""
    code = counted(assembly(peak_module(lanes), Target("x86_64-unknown-linux-gnu", cpu, "")))
    assert code.fmas == ACCUMULATORS
    assert (code.spills == 0) == (cpu == "x86-64-v4")


def test_the_peak_loop_counts_what_it_does() -> None:
    run, flops = peak_loop(1)
    run()
    doubled = peak_loop(2)
    doubled[0]()
    assert doubled[1] == 20 * flops  # two threads, ten times as long


@pytest.mark.parametrize("task", ["nothing", "meet"])
def test_launches_end(task: str) -> None:
    assert f"ptr @{task}" in launches_module(task)
    launches(task, 2)(3)
