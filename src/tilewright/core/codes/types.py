"""TW2xx: types and shapes that do not fit."""

from ..diagnostics import Code

DTYPE_CALLED = Code(
    201,
    "{dtype} is an element type and cannot be called",
    why="an element type describes values; it has no instances of its own",
    help="write cast({dtype}, x) to convert a value, or full({dtype}, shape, x) for a constant tile",
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
DTYPE_MISMATCH = Code(
    205,
    "{op} of {a} and {b}",
    why="element types are never promoted: which one is meant decides the rounding",
    help="convert one side, as in cast({target}, x)",
)
BAD_LITERAL = Code(
    206,
    "the literal {value!r} is no value of {dtype}",
    why="an int stands for a float only when it is exact, a float never stands for an integer, and a bool only for a "
    "boolean",
    help="write the literal in the type of the tile, or convert the tile, as in cast(f32, x)",
)
BAD_OPERAND = Code(
    207,
    "{what} cannot be an operand of {op}",
    why="operands are tiles, scalars of the kernel, and Python numbers",
    help="{remedy}",
)
NOT_DEFINED = Code(
    208,
    "{op} is not defined for {dtype}",
    why="{reason}",
    help="{remedy}",
)
BROADCAST = Code(
    209,
    "{op} of tiles that do not fit: {axis} is {a} in {first} and {b} in {second}",
    why="axes meet by identity; where both tiles have an axis its extents agree or one of them is 1",
    help="load both with the same extent, or rename an axis with relabel(x, shape(...))",
)
RANK_MISMATCH = Code(
    210,
    "{what} has {got}, not {expected}",
    why="a view is addressed by one coordinate and one extent for each of its axes",
    help="give one entry for each axis of {view}",
)
CARRIED_TYPE = Code(
    211,
    "`{name}` enters {region} as {before} and is {after} at its end",
    why="a carried variable has one type in all iterations",
    help="convert or reshape the new value, or use another name for it",
)
MMA_ROLES = Code(
    212,
    "mma cannot tell the role of the axes: {problem}",
    why="an axis of a, b and c is batched, one of a and b only is contracted, one of c is also in a or b; axes meet by "
    "identity, or by position when all three tiles have two and none has a name",
    help="load a with shape(m, k), b with shape(k, n) and make c with shape(m, n)",
)
ACCUMULATOR = Code(
    213,
    "mma accumulates {operand} in {dtype}",
    why="{reason}",
    help="make the accumulator wide, as in zeros(f32, shape(m, n)), and cast the result",
)
NO_SUCH_AXIS = Code(
    214,
    "{op} over {axis}, which is no axis of {tile}",
    why="axes meet by identity: an axis of equal extent or equal name is another axis",
    help="use one of the axes the tile was loaded with",
)
EMPTY_FOLD = Code(
    215,
    "{reducer} over {axes}, which has no elements",
    why="the largest or smallest of nothing is no number",
    help="use a region fold with a seed of your own, or keep the extent above 0",
)
SHAPE_CHANGE = Code(
    216,
    "{op} from {before} to {after}",
    why="{reason}",
    help="{remedy}",
)
NOT_BOOLEAN = Code(
    217,
    "{role} is {what}, not boolean",
    why="a condition is a boolean tile or scalar; numbers have no truth here",
    help="write a comparison, as in x != 0",
)
ARGUMENT_MISMATCH = Code(
    218,
    "the argument {name} of {kernel} expects {expected}, got {got}",
    why="the annotation of a parameter fixes its rank (none for a number), and its element type when it names one",
    help="pass an argument that fits, or change the annotation of {name}",
)
BAD_INDEX = Code(
    219,
    "{what} is used as a coordinate",
    why="coordinates are signed 64-bit integers: Python ints, or integer scalars that fit",
    help="{remedy}",
)
MAP_RESULT = Code(
    220,
    "the body of map gives {got}, not a scalar of {dtype}",
    why="a map computes one element at a time",
    help="return a scalar of {dtype}, as in cast({dtype}, x); take elements of tiles with x.at(coord(...))",
)
UPDATE_REDUCER = Code(
    221,
    "update with {what}",
    why="an update is one atomic operation on an element: add, minimum or maximum",
    help="use add, minimum or maximum, or fold first and store once",
)
FILL_WITHOUT_WHERE = Code(
    222,
    "a fill without `where` on one element",
    why="the index of an element access must lie inside the view, so the fill would never be used",
    help="add where=..., or load a tile, whose outside is filled",
)
ARM_TYPES = Code(
    223,
    "`{name}` is {first} in one arm of {branch} and {second} in the other",
    why="a variable has one type after the `if`, whichever arm was taken",
    help="convert or reshape one of the values inside its arm, or use two variables",
)
ARM_SPACE = Code(
    224,
    "{op} to {target} under {branch}, whose condition has the shape {condition}",
    why="a write in an arm happens where the condition holds, so the axes of the condition are among those written",
    help="branch on a scalar, such as one element or a fold of the condition, or write a block that has its axes",
)
REDUCER_STATES = Code(
    225,
    "{what} of the reducer {name} gives {got}, not {expected}",
    why="the states of a reducer have fixed types, so that partial results can be merged in any place",
    help="return one scalar for each state, converted as in cast(f32, x)",
)
REDUCER_POLICY = Code(
    226,
    "the policy {policy} needs a reducer that is {law}, and {name} is not",
    why="a tree merges partial results, an unordered one in any order; folds from the left or right need no law",
    help="use policy={remedy}",
)
REDUCER_LAW = Code(
    227,
    "the reducer {name} is not {law}: {left} is {first}, and {right} is {second}",
    why="folds regroup by the laws that a reducer declares, so a law that does not hold gives other results on every "
    "machine",
    help="{remedy}",
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
NO_RELATION = Code(
    282,
    "this set-valued layout cannot be used: {what}",
    why="each of its fibre points says that one logical point has one place, so both legs have a value at all of them",
    help="{remedy}",
)
AXIS_BINDING = Code(
    283,
    "hardware axes do not fit the places of a layout: {what}",
    why="every axis of the places is one hardware axis, and no two of them are the same one",
    help="bind each axis of the places once, to a hardware axis of its own",
)
NO_STORAGE = Code(
    284,
    "zero-sized storage is still used: {what}",
    why="an access of an element needs a cell; only a memory without elements has none",
    help="give the layout as many cells as the memory has elements, or remove the accesses",
)
LAYOUT_FUNCTION = Code(
    285,
    "this is no layout: {what}",
    why="a layout is integer arithmetic on the coordinates of an element, known as a whole when the kernel is captured",
    help="{remedy}",
)
