"""One fold of every kind under one policy: along rows and along columns, of the library and as regions, seeded."""

from tilewright import tile
from tilewright.ir.attrs import Policy
from tilewright.ir.kernel import Kernel
from tilewright.tile import (
    ConstView2,
    View2,
    add,
    axis,
    cast,
    coord,
    f32,
    full,
    i32,
    maximum,
    mul,
    parallel,
    reduce,
    reducer,
    scalar,
    shape,
    tensor_shape,
)

__all__ = ["LICENSES", "PROGRAMS", "ROWS", "SEED", "fold_kernel"]

PROGRAMS, ROWS = 3, 5
SEED = 0.7
LICENSES = r"= (f\w+ (nsz )?|(tail )?call (nsz )?)(reassoc|contract|fast|nnan|ninf|arcp|afn)\b|= f\w+ nsz"
"""LLVM's words for arithmetic that may be changed, where they stand. Extremes may return either of two zeros (nsz)."""
minus = reducer(state=f32, identity=SEED, merge=lambda a, b: a - b, associative=False, commutative=False)


@tile.kernel
def along(X: ConstView2[f32], L: View2[f32], R: View2[f32], N: View2[i32], *, policy: Policy):
    """L: folds of the library; R: folds as regions; N: folds of integers. A row an operation, a column a fiber."""
    m, n, one = axis("m", ROWS), axis("n", X.shape[1]), axis("one", 1)
    for nest in parallel(shape(PROGRAMS)):
        at = nest.index() * ROWS
        x = X[coord(at, 0), shape(m, n)]
        whole = cast(i32, x * 64.0)
        L.at(coord(0, at), shape(one, m)).store(reduce(x, n, add, policy=policy))
        L.at(coord(1, at), shape(one, m)).store(reduce(x, n, mul, policy=policy))
        L.at(coord(2, at), shape(one, m)).store(reduce(x * 3.0, n, maximum, policy=policy) if X.shape[1] else 0.0)
        N.at(coord(0, at), shape(one, m)).store(reduce(whole, n, add, policy=policy))
        N.at(coord(1, at), shape(one, m)).store(reduce(whole, n, mul, policy=policy))
        for row in nest.serial(shape(m)):
            total, product, whole_sum = scalar(f32, SEED), scalar(f32, SEED), scalar(i32, 7)
            for step in row.reduce(shape(n), policy=policy):
                v = x.at(coord(row.index(), step.index()))
                total = total + v
                product = product * v
                whole_sum = whole_sum + cast(i32, v * 64.0)
            R[0, at + row.index()].store(total)
            R[1, at + row.index()].store(product)
            N[2, at + row.index()].store(whole_sum)


@tile.kernel
def strict(X: ConstView2[f32], L: View2[f32], R: View2[f32], *, policy: Policy):
    """Folds that no tree may regroup: differences and affine recurrences, in both orders of the operands."""
    m, n, one = axis("m", ROWS), axis("n", X.shape[1]), axis("one", 1)
    for nest in parallel(shape(PROGRAMS)):
        at = nest.index() * ROWS
        x = X[coord(at, 0), shape(m, n)]
        L.at(coord(0, at), shape(one, m)).store(reduce(x, n, minus, policy=policy))
        less = more = full(f32, shape(m, one), SEED)
        for step in nest.reduce(shape(n), policy=policy):
            column = X[coord(at, step.index()), shape(m, one)]
            less = less - column
            more = column - more * 0.5
        R.at(coord(0, at), shape(one, m)).store(less)
        R.at(coord(1, at), shape(one, m)).store(more)


@tile.kernel
def across(X: ConstView2[f32], L: View2[f32], *, policy: Policy):
    """The same along columns: elements of one fold lie a row apart."""
    m, n, one = axis("m", X.shape[0]), axis("n", PROGRAMS * ROWS), axis("one", 1)
    for nest in parallel(shape(1)):
        x = X[coord(0, 0), shape(m, n)]
        L.at(coord(0, 0), shape(one, n)).store(reduce(x, m, add, policy=policy))
        L.at(coord(1, 0), shape(one, n)).store(reduce(x, m, mul, policy=policy))
        if policy in (Policy.FOLD_LEFT, Policy.FOLD_RIGHT):
            L.at(coord(2, 0), shape(one, n)).store(reduce(x, m, minus, policy=policy))
        total = full(f32, shape(one, n), SEED)
        for step in nest.reduce(shape(m), policy=policy):
            total = total + X[coord(step.index(), 0), shape(one, n)]
        L.at(coord(3, 0), shape(one, n)).store(total)


def fold_kernel(name: str, policy: Policy, size: int) -> Kernel:
    """One of the three kernels, for fibers of `size` elements."""
    wide, fibers = tensor_shape(PROGRAMS * ROWS, size), tensor_shape(4, PROGRAMS * ROWS)
    if name == "along":
        return along.capture(wide, fibers, fibers, fibers, policy=policy)
    if name == "strict":
        return strict.capture(wide, fibers, fibers, policy=policy)
    return across.capture(tensor_shape(size, PROGRAMS * ROWS), fibers, policy=policy)
