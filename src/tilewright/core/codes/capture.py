"""TW1xx: Python outside the language."""

from ..diagnostics import Code

NO_CAPTURE = Code(
    101,
    "{what} is used outside a kernel",
    why="tiles, axes and regions exist only while a kernel is being captured",
    help="call it in the body of a function decorated with @tile.kernel, or in a helper which that body calls",
)
FOREIGN_VALUE = Code(
    102,
    "{what} belongs to another capture",
    why="every capture makes values of its own, and those of an earlier one are gone",
    help="make the value inside this kernel; keep only host values (numbers, strings, configurations) between captures",
)
CLOSED_VALUE = Code(
    103,
    "{what} is used after its region closed",
    why="a value made inside a region exists once for every iteration; after the region there is no single one of it",
    help="give the variable a value before the region, so that it is carried, or store it to a view inside the region",
)
NESTED_CAPTURE = Code(
    104,
    "the kernel {inner} is captured while {outer} is being captured",
    why="a kernel is one program; it does not start another",
    help="turn the inner kernel into a helper function, decorated with @tile.inline if it has regions",
)
NO_SOURCE = Code(
    105,
    "the source text of {name} is not available",
    why="assignments in regions are found by reading the source of the function",
    help="define the kernel in a file, a notebook cell or the interactive prompt, not with exec or a lambda",
)
STALE_SOURCE = Code(
    106,
    "the source text of {name} is not that of the running function",
    why="the file changed after it was imported, or something rewrote the function; capturing its new text would run "
    "another program than the one that was imported",
    help="reload the module, or put @tile.kernel next to the def, below other decorators",
)
BAD_PARAMETER = Code(
    107,
    "the parameter `{name}` of {kernel} {problem}",
    why="positional parameters are views, View1 to View8 or ConstView1 to ConstView8, or numbers, Scalar; keyword-only "
    "parameters are host values, fixed at capture",
    help="annotate it as in `{name}: ConstView2[f32]` or `{name}: Scalar[f32]`, or move it behind a `*`",
)
BAD_ARGUMENTS = Code(
    108,
    "{kernel} cannot be captured: {problem}",
    why="a capture takes one tensor_shape for each view, one scalar_shape for each number, and the host configuration "
    "by keyword",
    help="call it as in {usage}",
)
REGION_SYNTAX = Code(
    109,
    "{what} in the body of a region",
    why="the body of a region is captured once and stands for all iterations, so it has no early end and no hidden "
    "assignments",
    help="{remedy}",
)
REGION_OUTSIDE_HEADER = Code(
    110,
    "the region {region} is not rewritten",
    why="the variables a region carries are found by rewriting `for` headers that contain the region's call",
    help="write the call directly in the header, as in `for step in nest.serial(...)`, of a function decorated with "
    "@tile.kernel or @tile.inline",
)
REGION_HEADER = Code(
    111,
    "the header of this region {problem}",
    why="a `for` over a call of parallel, serial, pipeline or reduce opens a region with one handle",
    help="write `for nest in parallel(shape(...))`, and give your own iterables other names",
)
STAGED_BOOL = Code(
    112,
    "the truth of {what} is not known at capture",
    why="Python needs one answer now, but the value exists only when the kernel runs, once for every element",
    help="combine conditions with `and`, `or`, `not` or &, |, ~, and choose between values with where(c, x, y); a "
    "helper that branches with `if` needs @tile.inline",
)
STAGED_IF = Code(
    113,
    "{word} in an `if` on {what}",
    why="the value of the condition is not known at capture, so both arms are captured and what they bind is merged; "
    "neither can end anything early",
    help="let both arms run to their end: stores inside them happen only where the condition holds",
)
STAGED_WHILE = Code(
    114,
    "`while` on {what}",
    why="the number of iterations of a kernel's loops is known before they start",
    help="use nest.serial(shape(...)) with a fixed number of steps, and where(c, new, old) for the updates",
)
STAGED_HOST = Code(
    115,
    "{use} of {what}",
    why="a tile or scalar of a kernel has no value at capture, so Python cannot turn it into one of its own",
    help="{remedy}",
)
HOST_REBOUND = Code(
    116,
    "the host variable `{name}` is bound to another value inside {region}",
    why="the body runs once at capture, so the variable would change once and not in every iteration",
    help="start from a staged value, as in `{name} = scalar(f32, 0)` or `{name} = zeros(f32, shape(...))`, or use "
    "another name",
)
NOT_A_VALUE = Code(
    117,
    "{what} is used as a value",
    why="{reason}",
    help="{remedy}",
)
ITEM_ASSIGNMENT = Code(
    118,
    "items of {what} are assigned",
    why="tiles are immutable, and views are written by stores, so that every write can be seen",
    help="write view.at(coord(...), shape(...)).store(x) for a tile, or view[i, j].store(x) for one element",
)
STORED_AWAY = Code(
    119,
    "{what} is stored in `{target}` inside {region}",
    why="only variables are carried from one iteration to the next; what is kept in an object would silently be the "
    "value of the first",
    help="keep the value in a variable of its own and put it into the object after the region",
)
CONTAINER_CHANGED = Code(
    120,
    "the {kind} `{name}` is changed inside {region}",
    why="only variables are carried from one iteration to the next; a container changed in place would silently keep "
    "the values of one iteration",
    help="bind a new one, as in `{name} = [*{name}, x]` before the region, or use variables of their own",
)
MISSING_ROOT = Code(
    121,
    "the kernel {kernel} has no parallel region",
    why="the root `parallel` says which independent programs exist; without one there is nothing to launch",
    help="wrap the work in `for nest in parallel(shape(...))`",
)
ROOT_INSIDE = Code(
    123,
    "{kind}(...) inside {region}",
    why="a region inside another one belongs to the handle of the innermost region, which fixes its coordinates",
    help="write `for inner in {nest}.{kind}(...)`",
)
NOT_INNERMOST = Code(
    124,
    "{call} is called while {region} is open",
    why="a region opens inside the innermost open one, and only the handle of that one can open it",
    help="use the handle of the innermost region",
)
REGION_LEFT = Code(
    125,
    "{region} was left before its end",
    why="an exception was caught outside the region, so its body is incomplete",
    help="let the exception out of the kernel, or catch it inside the region",
)
CLOSED_NEST = Code(
    126,
    "the handle of {region} is used after the region closed",
    why="coordinates exist only inside their region",
    help="use the handle inside its `for`",
)
UNKNOWN_COORDINATE = Code(
    127,
    "the axis {axis} has no coordinate here",
    why="a coordinate comes from an open region whose domain has the axis",
    help="put {axis} into the domain of an enclosing region, or use iota({axis}) for positions inside a tile",
)
INDEX_NEEDS_AXIS = Code(
    128,
    "index() of {region}, which has {rank}",
    why="without an axis index() is the one coordinate of a region of one axis",
    help="name the axis, as in index(axis), or take all with coords()",
)
STAGE_PLACE = Code(
    129,
    "{what}",
    why="stages cut the body of one pipeline into segments, each with a name of its own",
    help="call stage(...) on the handle of a pipeline, directly in its body, with a name not used there before",
)
REGION_POLICY = Code(
    130,
    "{what}",
    why="{reason}",
    help="{remedy}",
)
BAD_AXIS = Code(
    131,
    "{what}",
    why="an axis has a name and a constant extent of 0 or more; a shape is a list of different axes or extents",
    help='write axis("m", 64) and shape(m, n), or shape(64, 64) for axes by position',
)
KERNEL_RESULT = Code(
    132,
    "the kernel {kernel} returns {what}",
    why="a kernel writes its results to views; there is nobody to return to",
    help="add a mutable view parameter and store to it",
)
ONE_ARM = Code(
    133,
    "`{name}` has a value in one arm of {branch} only",
    why="which arm is taken is known when the kernel runs, so after it the variable may have no value",
    help="give `{name}` a value before the `if`, or in both arms",
)
HOST_ARMS = Code(
    134,
    "`{name}` is {first} in one arm of {branch} and {second} in the other",
    why="which arm is taken is known when the kernel runs, so the host cannot know the value at capture",
    help="make it staged before the `if`, as in `{name} = scalar(f32, 0)`, or use where(c, x, y)",
)
