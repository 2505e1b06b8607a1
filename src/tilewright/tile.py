"""The public names of the tile language."""

from tilewright.bridge.tirx.options import TirxOptions, TirxPlanner
from tilewright.bridge.tirx.providers.choices import CpuMathBackend, CpuMatrixBackend
from tilewright.bridge.tirx.sharing import SharedSSA
from tilewright.bridge.xir.options import PROGRAM, CostModel, Packing, Use, XirOptions, element
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
from tilewright.lang.layout_index import LayoutIndex
from tilewright.lang.layouts import Layout, blocked, layout, padded, permuted, swizzled
from tilewright.lang.library.activations import clamp, elu, gelu, leaky_relu, relu, silu, softplus
from tilewright.lang.library.indexing import gather, histogram, scatter, scatter_add, segment_reduce, segment_sum
from tilewright.lang.library.normalization import layer_norm, log_softmax, logsumexp, rms_norm, softmax
from tilewright.lang.library.products import einsum
from tilewright.lang.library.rearranging import concatenate, flip, merge_axes, roll, shift, split_axis
from tilewright.lang.library.scans import cummax, cummin, cumprod, cumsum
from tilewright.lang.library.sorting import argsort, sort, topk
from tilewright.lang.library.statistics import (
    all,
    any,
    argmax,
    argmin,
    max,
    mean,
    min,
    prod,
    sum,
    var,
    welford,
)  # fmt: skip
from tilewright.lang.library.windows import avg_pool2d, conv2d, max_pool2d, window
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
from tilewright.lang.memory import Memory, memory
from tilewright.lang.nests import Nest, Region, Scope, parallel, serial
from tilewright.lang.reducers import Reducer, add, bitwise_and, bitwise_or, bitwise_xor, maximum, minimum, mul
from tilewright.lang.signature import TensorShape, scalar_shape, tensor_shape
from tilewright.lang.spaces import Axis, Coord, Shape, axis, cdiv, coord, shape
from tilewright.lang.state_reducer import StateReducer, reducer
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
from tilewright.tools.check_reducer import check_reducer

__all__ = [
    "Axis", "CompileOptions", "ConstView1", "ConstView2", "ConstView3", "ConstView4", "ConstView5", "ConstView6",
    "ConstView7", "ConstView8", "Coord", "CostModel", "CpuMathBackend", "CpuMatrixBackend", "Kernel", "Layout",
    "LayoutIndex", "Lowering", "Memory", "Nest", "PROGRAM", "Packing", "Policy", "Reducer", "Region", "Scalar",
    "Scope", "Shape", "SharedSSA", "StateReducer", "TensorShape", "Tile", "TileKernel", "TirxOptions",
    "TirxPlanner", "Use", "View1", "View2", "View3", "View4", "View5", "View6", "View7", "View8", "XirOptions",
    "abs", "add", "all", "any", "argmax", "argmin", "argsort", "avg_pool2d", "axis", "bf16", "bitcast",
    "bitwise_and", "bitwise_or", "bitwise_xor", "blocked", "boolean", "bounds", "broadcast_to", "cast", "cdiv",
    "ceil", "check_reducer", "clamp", "compile", "concatenate", "conv2d", "coord", "cos", "cummax", "cummin",
    "cumprod", "cumsum", "einsum", "element", "elu", "erf", "exp", "exp2", "extract", "f16", "f32", "f64", "flip",
    "float8_e4m3fn", "float8_e5m2", "floor", "fold_left", "fold_right", "full", "gather", "gelu", "histogram",
    "i16", "i32", "i64", "i8", "inline", "iota", "isinf", "isnan", "ite", "kernel", "layer_norm", "layout",
    "leaky_relu", "log", "log2", "log_softmax", "logical_and", "logical_not", "logical_or", "logsumexp", "map",
    "matmul", "max", "max_pool2d", "maximum", "mean", "memory", "merge_axes", "min", "minimum", "mma", "mul",
    "ordered_tree", "padded", "parallel", "permuted", "pow", "prod", "reduce", "reducer", "reindex", "relabel",
    "relu", "reshape", "rms_norm", "roll", "round", "rsqrt", "scalar", "scalar_shape", "scan", "scatter",
    "scatter_add", "segment_reduce", "segment_sum", "serial", "shape", "shift", "sigmoid", "silu", "sin", "softmax",
    "softplus", "sort", "split_axis", "sqrt", "sum", "swizzled", "tanh", "tensor_shape", "topk", "transpose",
    "trunc", "trunc_div", "trunc_mod", "u16", "u32", "u64", "u8", "unordered_tree", "var", "welford", "where",
    "window", "zeros",
]  # fmt: skip
