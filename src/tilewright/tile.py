"""The public names of the tile language."""

from tilewright.bridge.xir.options import PROGRAM, CostModel, XirOptions, element
from tilewright.compile import TileKernel, compile, kernel
from tilewright.core.abi import CompileOptions, Lowering
from tilewright.core.dtypes import (
    bf16,
    boolean,
    f16,
    f32,
    f64,
    float8_e4m3fn,
    float8_e5m2,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)  # fmt: skip
from tilewright.ir.attrs import Policy
from tilewright.ir.kernel import Kernel
from tilewright.lang.annotations import (
    ConstView1,
    ConstView2,
    ConstView3,
    ConstView4,
    ConstView5,
    ConstView6,
    ConstView7,
    ConstView8,
    View1,
    View2,
    View3,
    View4,
    View5,
    View6,
    View7,
    View8,
)  # fmt: skip
from tilewright.lang.folds import fold_left, fold_right, ordered_tree, reduce, scan, unordered_tree
from tilewright.lang.kernel import inline
from tilewright.lang.library import (
    gelu,
    layer_norm,
    logsumexp,
    mean,
    rms_norm,
    silu,
    softmax,
    sum,
    var,
)  # fmt: skip
from tilewright.lang.math import (
    abs,
    bitcast,
    cast,
    ceil,
    cos,
    erf,
    exp,
    exp2,
    floor,
    isinf,
    isnan,
    ite,
    log,
    log2,
    logical_and,
    logical_not,
    logical_or,
    pow,
    round,
    rsqrt,
    sigmoid,
    sin,
    sqrt,
    tanh,
    trunc,
    trunc_div,
    trunc_mod,
    where,
)  # fmt: skip
from tilewright.lang.memory import Layout, Memory, layout, memory
from tilewright.lang.nests import Nest, Region, Scope, parallel
from tilewright.lang.reducers import Reducer, add, maximum, minimum, mul
from tilewright.lang.signature import TensorShape, tensor_shape
from tilewright.lang.spaces import Axis, Coord, Shape, axis, cdiv, coord, shape
from tilewright.lang.tiles import (
    broadcast_to,
    extract,
    full,
    iota,
    map,
    matmul,
    mma,
    reindex,
    relabel,
    reshape,
    scalar,
    transpose,
    zeros,
)  # fmt: skip
from tilewright.lang.values import Scalar, Tile
from tilewright.lang.views import bounds

__all__ = [
    "Axis", "CompileOptions", "ConstView1", "ConstView2", "ConstView3", "ConstView4", "ConstView5", "ConstView6",
    "ConstView7", "ConstView8", "Coord", "CostModel", "Kernel", "Layout", "Lowering", "Memory", "Nest", "PROGRAM",
    "Policy", "Reducer", "Region", "Scalar", "Scope", "Shape", "TensorShape", "Tile", "TileKernel", "View1", "View2",
    "View3", "View4", "View5", "View6", "View7", "View8", "XirOptions", "abs", "add", "axis", "bf16", "bitcast",
    "boolean", "bounds", "broadcast_to", "cast", "cdiv", "ceil", "compile", "coord", "cos", "element", "erf", "exp",
    "exp2", "extract", "f16", "f32", "f64", "float8_e4m3fn", "float8_e5m2", "floor", "fold_left", "fold_right", "full",
    "gelu", "i16", "i32", "i64", "i8", "inline", "iota", "isinf", "isnan", "ite", "kernel", "layer_norm", "layout",
    "log", "log2", "logical_and", "logical_not", "logical_or", "logsumexp", "map", "matmul", "maximum", "mean",
    "memory", "minimum", "mma", "mul", "ordered_tree", "parallel", "pow", "reduce", "reindex", "relabel", "reshape",
    "rms_norm", "round", "rsqrt", "scalar", "scan", "shape", "sigmoid", "silu", "sin", "softmax", "sqrt", "sum",
    "tanh", "tensor_shape", "transpose", "trunc", "trunc_div", "trunc_mod", "u16", "u32", "u64", "u8",
    "unordered_tree", "var", "where", "zeros",
]  # fmt: skip
