"""TW4xx: valid programs that a route or target refuses."""

from ..diagnostics import Code

NO_TILE_COMPILER = Code(
    401,
    "the device {device} compiles no tile kernels",
    why="compiling tile kernels is an optional ability of a device, and no other device stands in for it",
    help="compile for another device",
)

COMPILE_ONLY = Code(
    402,
    "{kernel} cannot be compiled only: compiled kernels are not archived",
    why="a compile-only request asks for an archive to load later, and a shader in memory is no such thing",
    help="leave compile_only out and keep the shader for as long as it is needed",
)
ROUTE_NOT_INSTALLED = Code(
    403,
    "the lowering {lowering} is not available",
    why="it goes through Apache TVM, which the extra `{extra}` brings; no other route stands in for it",
    help="pip install 'tilewright[{extra}]', or leave lowering at Lowering.NATIVE",
)
OPTION_OF_OTHER_ROUTE = Code(
    404,
    "the option `{option}` belongs to lowering {owner}, and this is lowering {lowering}",
    why="an option that the route would not read is refused, because ignoring it would hide a mistake",
    help="leave `{option}` out, or ask for lowering=Lowering.{owner}",
)
UNKNOWN_OPTION = Code(
    405,
    "there is no compile option named `{option}`",
    why="the options of a compilation are a fixed record, and all of them are part of its identity",
    help="use one of {known}",
)
BAD_OPTION = Code(
    406,
    "the compile option `{option}` is {value!r}, and it may be {allowed}",
    why="an option is honoured exactly or refused",
    help="{remedy}",
)
NOT_COMPILABLE = Code(
    407,
    "compile takes {expected}, and it was given {got}",
    why="what is compiled is one captured kernel, for one device",
    help="{remedy}",
)

ROOT_NOT_ONE_PARALLEL = Code(
    420,
    "the {route} route needs exactly one root parallel, and the kernel has {count} with {others} other root operations",
    why="the root parallel is the launch; several of them, or work beside it, would need several ordered launches",
    help="put all work of the kernel into one root parallel, or split it into several kernels",
)

WRITTEN_OVERLAP = Code(
    421,
    "argument {name} of shape {shape} has strides {strides} and is written, but {reason}",
    why="a store to one element would change another, in no order; only what is read may repeat its elements",
    help="write to an array whose elements are distinct in memory, for example a new one",
)

SCOPE_NOT_ON_ROUTE = Code(
    422,
    "the {route} route cannot bind a parallel region to the scope {scope}",
    why="one worker thread runs each program; there are no cooperating threads that a scope could name. "
    "It knows {allowed}",
    help="leave the scope out",
)

OP_NOT_ON_ROUTE = Code(
    423,
    "the {route} route has no rule for {op}",
    why="a missing rule is never replaced by something slower or different",
    help="write this part with the operations in the table of routes, or compile for another route",
)

MEMORY_RESOURCE = Code(
    424,
    "the {route} route has no Memory resource {resource}",
    why="manual memory belongs to one worker here; it knows {allowed}, and no class stands in for another",
    help="leave the resource out, or compile for a route that has it",
)

BAD_PLAN_OPTION = Code(
    426,
    "the plan option {option} is {value}, and it may be {allowed}",
    why="an option is honoured exactly or refused",
    help="choose a value in range",
)

PLAN_CONFLICT = Code(
    427,
    "the constraints on the plan contradict each other: {conflict}",
    why="each constraint must hold exactly, and these cannot hold together",
    help="remove one of them",
)

TOO_MANY_CANDIDATES = Code(
    428,
    "the plan space holds {count} candidates, more than max_candidates = {limit}",
    why="a search is never cut short silently: the result would not be the minimum of the space",
    help="fix root_axis_order, lanes or block_size, of a product register_tile or packing, or raise max_candidates",
)

NO_CANDIDATE = Code(
    429,
    "no plan is left: every one of {count} candidates was rejected, the first because {reason}",
    why="a candidate must fit the budgets and the constraints; cost never makes an illegal one legal",
    help="relax the constraint or raise the budget that the reasons name",
)

BUDGET_EXCEEDED = Code(
    430,
    "lowering emitted {count} operations, more than max_operations = {limit}",
    why="compile time grows faster than the code; a budget stops a kernel from compiling for minutes",
    help="split the kernel, or raise max_operations",
)

LAYOUT_NOT_PROVED = Code(
    432,
    "the layout of a Memory of {elements} elements is not proved to be storage within the proof budget of {limit} "
    "points",
    why="two elements that shared a cell would overwrite each other; what is neither affine nor linear in the bits "
    "of its coordinates is enumerated, up to the budget",
    help="use a layout that can be proved, such as strides or an XOR of coordinates, or a smaller memory",
)

NO_VECTOR_MATH = Code(
    460,
    "{function} has no expansion for {element}",
    why="elementary functions are written out as arithmetic, never taken from a library that rounds as it likes",
    help="compute it in float32, where every function has an expansion",
)

FUNCTION_TOO_LARGE = Code(
    440,
    "the machine code of {name} would come from {count} operations in one function, more than {limit}",
    why="the time to compile a function grows faster than its size",
    help="use smaller register tiles or unroll less, so that more of the work is loops",
)

NO_MACHINE_RULE = Code(
    441,
    "the CPU code generator has no rule for {op}",
    why="a missing rule is never replaced by something slower or different",
    help="write this part with other operations, or compile for another route",
)

NO_DEBUG_CODE = Code(
    442,
    "machine code has no debug mode, and debug=True was asked for",
    why="a debug request promises checks that the code would not make",
    help="compile for the device simd, whose debug mode interprets the kernel with every check, or leave debug out",
)
PHASE_OP = Code(
    443,
    "{what} stands outside of every parallel of a kernel with several launches",
    why="each root parallel is a launch of its own, and between launches nothing runs but arithmetic on loop indices",
    help="keep the value in a view that the launches read and write, or write the loop inside of a parallel",
)

TVM_VERSION = Code(
    470,
    "{package} {found} is installed, and the lowering TIRX works with {wanted}",
    why="TVM changes its nodes and passes in every release, and some combinations crash",
    help="pip install 'tilewright[{extra}]', which brings the version that is tested",
)
TVM_RIVAL = Code(
    471,
    "{rival} is loaded in this process, and Apache TVM cannot be loaded beside it",
    why="both packages register the same devices, and the second one to do so aborts the process",
    help="use the lowering TIRX in a process that does not import {rival}",
)
TVM_SYMBOL = Code(
    472,
    "{kernel} calls functions that this process does not have: {symbols}",
    why="the loader of machine code leaves such a call without a target, and the first one ends the process",
    help="load the library that has them, or write this part of the kernel with other operations",
)
OPTION_NOT_ON_TARGET = Code(
    473,
    "the option {option} is {value!r}, and it belongs to {owner}",
    why="an option that this route would not read is refused, because ignoring it would hide a mistake",
    help="leave {option} at {default!r}",
)
PROVIDER_ABSENT = Code(
    474,
    "{kernel} would call functions that nobody has registered: {names}",
    why="outside code is called where it is asked for and there; no other code stands in for it silently",
    help="compile for the device simd, which registers them; CBLAS comes with pip install 'tilewright[cblas]'",
)
PROVIDER_UNPROVED = Code(
    475,
    "{option} takes whole kernels, and {kernel} is not proved to be one: {reason}",
    why="outside code replaces a kernel only if it is proved to compute the same",
    help="leave {option} out, or write the kernel as C = A B of three whole float32 matrices",
)
PROVIDER_ELSEWHERE = Code(
    476,
    "{option} is {value}, which exists on {needed}, and this is {found}",
    why="outside code is called where it is asked for and there; no other code stands in for it silently",
    help="leave {option} at its default, or use {instead}, which exists everywhere",
)
