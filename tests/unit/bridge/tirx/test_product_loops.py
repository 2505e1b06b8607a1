"""The proof of a product reads its loops: here they stand as text, and each thing that is written otherwise is seen."""

import re
from typing import Any

import pytest

from tilewright.bridge.tirx.door import open_door
from tilewright.bridge.tirx.providers.product_loops import objection_to_product

HEAD = """\
@T.prim_func
def main(
    A: T.Buffer(({m}, {k}), "float32", align=4),
    B: T.Buffer(({k}, {n}), "float32", align=4),
    C: T.Buffer(({m}, {n}), "float32", align=4),
):
    for p in T.serial({programs}):
        sums = T.alloc_local(({cells},), align=4)
        column: T.let[T.int64] = p % {wide} * {bn}
        row: T.let[T.int64] = p // {wide} * {bm}
        for e in range({bm}):
            for f in range({bn}):
                sums[e * {bn} + f] = T.float32(0.0)
        for s in T.serial({trips}):
            a = T.alloc_local(({left_cells},), align=4)
            b = T.alloc_local(({right_cells},), align=4)
            block = T.alloc_local(({cells},), align=4)
            x = T.alloc_buffer((1,), "int64", align=8)
            with T.attr(0, "tile.stage", "load"):
                T.evaluate(0)
            x[0] = s * {bk}
            for g in range({bm}):
                for h in range({bk}):
                    a[g * {bk} + h] = {left}
            for g1 in range({bk}):
                for h1 in range({bn}):
                    b[g1 * {bn} + h1] = {right}
"""
BESIDE = """\
            for i in T.serial({bm}, annotations={{"tile.mma": 2}}):
                for j in range({bn}):
                    block[i * {bn} + j] = sums[i * {bn} + j]
                    for l in range({bk}):
                        block[i * {bn} + j] = FMA(a[i * {bk} + l], b[l * {bn} + j], block[i * {bn} + j])
            for u in range({bm}):
                for v in range({bn}):
                    sums[u * {bn} + v] = block[u * {bn} + v]
"""
IN_PLACE = """\
            for i in T.serial({bm}, annotations={{"tile.mma": 2}}):
                for j in range({bn}):
                    for l in range({bk}):
                        sums[i * {bn} + j] = FMA(a[i * {bk} + l], b[l * {bn} + j], sums[i * {bn} + j])
"""
TAIL = """\
        for q in range({bm}):
            for r in range({bn}):
                {where}C[row + q, column + r] = sums[q * {bn} + r]
"""
FMA = 'T.call_llvm_pure_intrin("float32", "llvm.fma", '
RAGGED: dict[str, Any] = {
    "m": 9,
    "k": 63,
    "n": 35,
    "bm": 4,
    "bk": 2,
    "bn": 16,
    "programs": 9,
    "wide": 3,
    "trips": 32,
    "cells": 64,
    "left_cells": 8,
    "right_cells": 32,
    "left": "T.if_then_else(row + g < 9 and x[0] + h < 63, A[row + g, x[0] + h], T.float32(0.0))",
    "right": "T.if_then_else(x[0] + g1 < 63 and column + h1 < 35, B[x[0] + g1, column + h1], T.float32(0.0))",
    "where": "if row + q < 9 and column + r < 35:\n                    ",
}
SQUARE: dict[str, Any] = {
    "m": 8,
    "k": 8,
    "n": 8,
    "bm": 4,
    "bk": 4,
    "bn": 4,
    "programs": 4,
    "wide": 2,
    "trips": 2,
    "cells": 16,
    "left_cells": 16,
    "right_cells": 16,
    "left": "A[row + g, x[0] + h]",
    "right": "B[x[0] + g1, column + h1]",
    "where": "",
}
FORMS = {"beside": BESIDE, "in place": IN_PLACE}


def objection(form: str, sizes: dict[str, Any], before: str = "", after: str = "") -> str:
    """What the proof says of the loops with one thing written otherwise. TVM wants whole numbers with their type."""
    text = (HEAD + FORMS[form] + TAIL).format_map(sizes).replace("FMA(", FMA)
    assert not before or text.count(before) == 1, text
    changed = text.replace(before, after) if before else text
    typed = re.sub(r'(?<![\w.=])(?<!": )(?<!attr\()(\d+)(?![\w.])', r"T.int64(\1)", changed)
    door = open_door()
    function = door.tvm.script.from_source(typed)
    return objection_to_product(door, function, sizes["m"], sizes["n"], sizes["k"])


@pytest.mark.parametrize("sizes", [RAGGED, SQUARE], ids=["ragged", "square"])
@pytest.mark.parametrize("form", FORMS)
def test_the_loops_of_a_product_are_one(form: str, sizes: dict[str, Any]) -> None:
    assert objection(form, sizes) == ""


CHANGES = {
    "a start": ("sums[e * 16 + f] = T.float32(0.0)", "sums[e * 16 + f] = T.float32(1.0)", "begins at another number"),
    "half of a start": ("for e in range(4)", "for e in range(3)", "made of something else|two products"),
    "a fill": ("x[0] + h], T.float32(0.0))", "x[0] + h], T.float32(1.0))", "padded with another number"),
    "a bound that is missing": ("row + g < 9 and x[0] + h < 63", "row + g < 9", "A reaches out"),
    "a bound that is too low": ("x[0] + h < 63", "x[0] + h < 62", "A is masked"),
    "a bound of another index": ("column + h1 < 35", "column + g1 < 35", "B is masked"),
    "a mask with holes": ("column + r < 35", "column + r < 35 and r >= 1", "a mask has holes"),
    "a mask of the result": ("row + q < 9", "row + q < 8", "a store is masked"),
    "no mask of the result": ("if row + q < 9 and column + r < 35:", "if row + q < 9:", "a store reaches out"),
    "a neighbour": ("A[row + g, x[0] + h]", "A[row + g, x[0] + h + 1]", "different places of the sum"),
    "a shorter block": ("for l in range(2)", "for l in range(1)", "different places of the sum|repeats"),
    "fewer blocks": ("for s in T.serial(32)", "for s in T.serial(31)", "leaves out or repeats a part of K"),
    "blocks apart": ("x[0] = s * 2", "x[0] = s * 3", "different places of the sum"),
    "one block again and again": ("x[0] = s * 2", "x[0] = 0", "leaves out or repeats a part of K"),
    "fewer programs": ("for p in T.serial(9)", "for p in T.serial(6)", "do not reach the end of C"),
    "programs that repeat": ("p // 3 * 4", "p % 3 * 4", "programs repeat each other"),
    "tiles that overlap": ("p // 3 * 4", "p // 3 * 3", "overlap, or leave gaps"),
    "an uneven split": ("p // 3 * 4", "p // 2 * 4", "another kind: Bind"),
    "a call that may do anything": ("p // 3 * 4", 'T.call_extern("int64", "f", p)', "another kind: Bind"),
    "a name that changes": ("x[0] = s * 2", "x[0] = s * 2\n            x[0] = s * 2", "another kind: BufferStore"),
    "another intrinsic": ("llvm.fma", "llvm.fmuladd", "no multiply-add"),
    "another row of the result": ("C[row + q,", "C[row + q + 1,", "overlap, or leave gaps"),
    "a result with more": ("= sums[q * 16 + r]", "= sums[q * 16 + r] + T.float32(1.0)", "something else than a sum"),
    "a result of one block": ("= sums[q * 16 + r]", "= C[row + q, column + r]", "made of something else"),
    "an order that is kept": ('"tile.mma": 2', '"tile.mma": 1', "keeps the order"),
    "a place that is read": ("column + h1]", "T.Cast(\"int64\", A[0, h1])]", "no sum of loop variables"),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("change", CHANGES)
def test_what_is_no_product_is_seen(change: str, form: str) -> None:
    before, after, reason = CHANGES[change]
    found = objection(form, RAGGED, before, after)
    assert re.search(reason, found), found


@pytest.mark.parametrize(
    ("form", "before", "after"),
    [
        ("beside", "= sums[i * 16 + j]", "= T.float32(0.0)"),
        ("beside", "block[i * 16 + j])", "sums[i * 16 + j])"),
        ("beside", "= block[u * 16 + v]", "= block[u * 16 + v] + block[u * 16 + v]"),
        ("beside", "for u in range(4)", "for u in range(3)"),
        ("in place", "sums[i * 16 + j])", "T.float32(0.0))"),
        ("in place", "for i in T.serial(4", "for i in T.serial(3"),
    ],
)
def test_a_sum_that_is_carried_otherwise_is_seen(form: str, before: str, after: str) -> None:
    assert objection(form, RAGGED, before, after)


@pytest.mark.parametrize(
    ("form", "before", "after"),
    [
        ("beside", "= sums[i * 4 + j]", "= sums[j * 4 + i]"),
        ("beside", "= sums[i * 4 + j]", "= sums[i * 4 + i]"),
        ("beside", "= block[u * 4 + v]", "= block[v * 4 + u]"),
        ("beside", "sums[u * 4 + v] =", "sums[v * 4 + u] ="),
        ("in place", ", sums[i * 4 + j])", ", sums[j * 4 + i])"),
        *(
            (form, *change)
            for form in FORMS
            for change in (
                ("= sums[q * 4 + r]", "= sums[r * 4 + q]"),
                ("a[i * 4 + l]", "a[l * 4 + i]"),
                ("a[i * 4 + l]", "b[i * 4 + l]"),
                ("b[l * 4 + j]", "b[j * 4 + l]"),
                ("a[g * 4 + h] =", "a[h * 4 + g] ="),
                ("= A[row + g, x[0] + h]", "= A[row + h, x[0] + g]"),
                ("= A[row + g, x[0] + h]", "= A[x[0] + g, row + h]"),
                ("= A[row + g, x[0] + h]", "= B[row + g, x[0] + h]"),
                ("p % 2 * 4", "p // 2 * 4"),
                ("C[row + q, column + r]", "C[column + q, row + r]"),
            )
        ),
    ],
)
def test_nothing_is_turned_where_sizes_would_hide_it(form: str, before: str, after: str) -> None:
    assert objection(form, SQUARE, before, after)
