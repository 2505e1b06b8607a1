"""TW3xx: aliases, escapes, races and bounds."""

from ..diagnostics import Code

PARALLEL_ESCAPE = Code(
    301,
    "`{name}` is changed inside {region}",
    why="the instances of a parallel run in any order and share nothing, so there is no last value to keep",
    help="store it to a view, or make the fold a region of its own: nest.reduce(...) or nest.serial(...)",
)
OUTER_MEMORY_WRITTEN = Code(
    302,
    "manual memory made outside {region} is written inside it",
    why="every instance of the {kind} would write the same storage, in no order",
    help="make the memory inside {region}, or store to it outside",
)
RACING_STORE = Code(
    350,
    "several iterations write one location: the store does not depend on {axes}",
    why="the instances of a parallel run in any order, so which of them writes last is undefined",
    help="fold over the axis with reduce, or combine the values with view.update(...)",
)
CONST_VIEW_WRITTEN = Code(
    351,
    "{op} writes through the const view {view}",
    why="a parameter annotated as a const view is only read",
    help="annotate the parameter as a mutable view (View2 instead of ConstView2)",
)
IMPURE_BODY = Code(
    352,
    "{op} has an effect inside {body}",
    why="the body of {body} defines values point by point, in any order and any number of times",
    help="load before it, store after it, or use a region such as nest.serial(...)",
)
MEMORY_FLOW = Code(
    353,
    "manual memory is used out of order: {what}",
    why="every access uses the contents left by the access before it, so that order needs no guessing",
    help="store before the first load, and write the memory in the instance that owns it",
)
SCOPE_REFUSED = Code(
    354,
    "{what}",
    why="an execution scope binds a parallel to one level of the target, and levels contain each other in one order",
    help="name a scope that the target has, inside the one of the enclosing parallel",
)
RESOURCE_REFUSED = Code(
    355,
    "{what}",
    why="a target states which scopes may load from and store to each class of storage",
    help="choose another resource class, or leave it out to let the planner choose",
)
MISPLACED_STAGE = Code(
    356,
    "{what}",
    why="stages cut the body of one pipeline into segments, each with a name of its own",
    help="call stage(...) directly in the pipeline's body, before its first load, store or tile operation",
)
PIPELINE_POLICY = Code(
    357,
    "{what}",
    why="window bounds the iterations in flight (0: the planner chooses) and interval is the distance between issues",
    help="use a window from 0 and an interval from 1, both below 2**32",
)
KERNEL_FORM = Code(
    358,
    "{what}",
    why="a kernel is a set of independent instances: its root holds index arithmetic and one or more parallels",
    help="wrap the work in `for nest in parallel(...)`",
)

ELEMENT_OUTSIDE = Code(
    340,
    "{access} at index {index} of axis {axis} of {what}, which has {extent}",
    why="only a load or store with bounds `zero` may reach outside; everything else promises to stay inside",
    help="guard the access with a mask or predicate, or use a tile load, which fills what lies outside",
)
CELL_CONFLICT = Code(
    341,
    "programs {first} and {second} both touch {cell}, and {what}",
    why="the instances of a parallel run in any order, so none may write what another reads or writes",
    help="give every instance cells of its own, fold over the axis with reduce, or use view.update(...)",
)
UNWRITTEN_READ = Code(
    342,
    "{cell} is read before anything was written to it",
    why="its contents were declared meaningless at the start, so the result would depend on what memory held before",
    help="write it first, or mask the load so that it leaves these elements out",
)
DIVISION_BY_ZERO = Code(
    343,
    "{op} divides an integer by zero",
    why="an integer quotient by zero has no value, and compiled code may give anything",
    help="choose another divisor there, as in `a // where(b == 0, 1, b)`",
)
