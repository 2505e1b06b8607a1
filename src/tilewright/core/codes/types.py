"""TW2xx: types and shapes that do not fit."""

from ..diagnostics import Code

DTYPE_CALLED = Code(
    201,
    "{dtype} is an element type and cannot be called",
    why="an element type describes values; it has no instances of its own",
    help="write cast(x, {dtype}) to convert a value, or full({dtype}, shape, x) for a constant tile",
)
UNKNOWN_DTYPE = Code(
    202,
    "there is no element type named {name!r}",
    why="element types are spelled exactly as tilewright prints them",
    help="use one of {known}",
)
K_MISMATCH = Code(
    203,
    "mma contracts {axis}={a} of `a` with {axis}={b} of `b`",
    why="an axis shared by both operands is the same axis and has one extent",
    help="load both operands with the same extent along {axis}",
)
NO_ELEMENT_TYPE = Code(
    204,
    "arrays of NumPy type {dtype!r} have no element type",
    why="an array is used in place, so its bytes must already be those of an element type",
    help="convert the array yourself to one of {known}",
)
ILL_TYPED = Code(
    280,
    "{what}",
    why="the operands, results and bodies of TileIR operations have types that agree",
    help="convert or reshape the values so that the types named above agree",
)
UNSAFE_LAYOUT = Code(
    281,
    "this layout cannot hold the memory: {what}",
    why="a layout gives every element a storage cell of its own, inside the storage",
    help="choose strides or index expressions that map different elements to different cells",
)
UNDEFINED_ARITHMETIC = Code(
    290,
    "{op} is not defined for {dtype}",
    why="narrow types are for storage: they take part in loads, stores and casts, and mma does not accumulate in them",
    help="compute in a wider type, as in `cast(x, f32)`, and narrow the result",
)
