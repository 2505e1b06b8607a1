"""TW6xx: wrong buffers, arguments and commands."""

from ..diagnostics import Code

UNKNOWN_DEVICE = Code(
    601,
    "there is no device named {name!r}",
    why="devices are found by name in a fixed table, and a wrong name never selects another device",
    help="use one of {known}",
)
USE_AFTER_CLOSE = Code(
    602,
    "{what} is closed",
    why="closing gives the native resource back, so nothing may refer to it afterwards",
    help="close it after its last use, or leave the closing to `with` or to Python",
)
CLOSED_IN_FLIGHT = Code(
    603,
    "{what} was closed while {pending} pending command(s) use it",
    why="with validation on, a resource is closed only when its last command has finished",
    help="call `stream.synchronize()` first, or drop the reference instead of closing",
)
BAD_EXTENT = Code(
    604,
    "{value!r} is not a number of elements",
    why="a buffer holds a whole number of elements; zero is allowed",
    help="give a non-negative int",
)
NOT_AN_ELEMENT_TYPE = Code(
    605,
    "{value!r} is not an element type",
    why="a buffer is typed, so that views and shaders can be checked against it",
    help="give one of tilewright's element types, as in `device.create_buffer(f32, 1024)`",
)
VIEW_OUT_OF_BOUNDS = Code(
    606,
    "elements {begin}:{end} are outside {what}, which has {size}",
    why="a view lies inside what it looks at; it is never clipped",
    help="give 0 <= offset and offset + count <= {size}",
)
SLICE_FORM = Code(
    607,
    "{what} is sliced as [begin:end], not by {given}",
    why="a view is one contiguous range of elements on the device",
    help="use `x[begin:end]`; read single elements by copying them to the host",
)
REINTERPRETATION = Code(
    608,
    "{size_bytes} bytes at byte offset {byte_offset} cannot be read as {dtype}",
    why="elements of {itemsize} bytes need an offset and a size that are multiples of {itemsize}",
    help="reinterpret an aligned view whose size in bytes is a multiple of {itemsize}",
)
NO_HOST_MEMORY = Code(
    609,
    "{type} gives no host memory to copy: {reason}",
    why="a copy reads or writes the caller's memory in place, and nothing is converted behind the caller's back",
    help="give a NumPy array, or an object with the buffer protocol or DLPack on the CPU",
)
HOST_DTYPE = Code(
    610,
    "the host array holds {got}, {what} holds {expected}",
    why="a copy moves bytes and converts nothing",
    help="convert the array to {expected}, or reinterpret the view with `as_type`",
)
HOST_SIZE = Code(
    611,
    "the host array has {got} elements, {what} has {expected}",
    why="a copy covers the whole view, so both sides have the same number of elements",
    help="copy a view of the right size, as in `buffer[0:{got}]`",
)
HOST_STRIDES = Code(
    612,
    "the host array of shape {shape} is not contiguous in row-major order",
    why="a copy moves one contiguous range, and nothing is repacked behind the caller's back",
    help="pass `np.ascontiguousarray(x)`, and for a result copy it back yourself",
)
HOST_READ_ONLY = Code(
    613,
    "the host array cannot be written",
    why="`copy_to` writes its destination in place",
    help="give a writable array",
)
COPY_SIZE = Code(
    614,
    "{source} has {got} elements, {destination} has {expected}",
    why="a copy covers both views",
    help="copy between views of the same size",
)
COPY_DTYPE = Code(
    615,
    "{source} holds {got}, {destination} holds {expected}",
    why="a copy moves bytes and converts nothing",
    help="reinterpret one side with `as_type` when the bytes are meant",
)
COPY_OVERLAP = Code(
    616,
    "a copy within {what} from bytes {source} to bytes {destination} overlaps itself",
    why="devices copy in any order, so the result would depend on the device",
    help="copy through a second buffer",
)
OTHER_DEVICE = Code(
    617,
    "{what} belongs to another device ({got}) than {owner} ({expected})",
    why="memory, streams and events of one device mean nothing to another, even of the same kind",
    help="create both from the same device",
)
NOT_A_COMMAND = Code(
    618,
    "{type} is not something {where} takes",
    why="a stream takes commands, command lists and `synchronize()`; a list takes commands",
    help="for a shader write `shader(...).dispatch()`, for a function `host_callback(function)`",
)
STREAM_LACKS = Code(
    619,
    "a {tag} stream does not take {command}",
    why="the tag of a stream says which commands it can run: compute streams also copy, copy streams do not compute",
    help="create the stream with another `StreamTag`",
)
LIST_SPENT = Code(
    620,
    "this command list was committed already",
    why="a list is one unit of work and is committed once",
    help="make a new `CommandList` with the commands, which may be used again",
)
NEVER_SIGNALLED = Code(
    621,
    "{what} waits for {wanted}, and no such signal was enqueued",
    why="waits refer to signals that are already in some stream, so that no two streams can wait for each other",
    help="enqueue the signal before the wait",
)
SIGNAL_ORDER = Code(
    622,
    "{what} is signalled with {value} after {last}",
    why="the values of a timeline only grow, in the order in which signals are enqueued",
    help="signal with a whole number above {last}",
)
UPSTREAM_FAILED = Code(
    623,
    "the signal that was waited for was not given: {cause}",
    why="the stream that should have signalled failed before it came to the signal",
    help="synchronize that stream to see and clear its error, then enqueue the work again",
)
COMMAND_FAILED = Code(
    624,
    "{command} raised {error}",
    why="commands run on the stream's thread; their errors are kept for the next synchronize",
    help="the original exception is chained to this one",
)
COMMANDS_NOT_RUN = Code(
    625,
    "{count} command(s) were not run, because an earlier one failed: {cause}",
    why="a failed stream skips its commands until a synchronize; these were enqueued while that one was waiting",
    help="enqueue them again",
)
BLOCKING_CALLBACK = Code(
    626,
    "a host callback waits for {what}",
    why="callbacks run on the thread of their stream, which would wait for itself",
    help="wait outside, or order streams with `event.signal()` and `event.wait()`",
)
LOST_IN_FORK = Code(
    627,
    "{count} pending command(s) stayed in the parent process",
    why="a fork copies memory but no threads, so the child cannot finish what the parent enqueued",
    help="synchronize before forking, or create devices in the child",
)
HAZARD = Code(
    628,
    "{stream} {does} bytes {mine} of {what}, which {other} {did} (bytes {theirs}) without an event in between",
    why="streams run at the same time; what two of them share needs an order",
    help="signal an event on {other} after its command and wait for it on {stream}, or synchronize {other} first",
)
ARGUMENT_COUNT = Code(
    629,
    "{kernel} takes {expected} argument(s), got {got}",
    why="every parameter of the kernel is one argument of the shader, used or not",
    help="pass {names}",
)
ARGUMENT_KIND = Code(
    630,
    "argument {index} (`{name}`) of {kernel} is {got}, not a buffer",
    why="a shader on a stream works on device memory",
    help="pass a Buffer or BufferView; host arrays go to a direct call of the kernel",
)
ARGUMENT_DEVICE = Code(
    631,
    "argument {index} (`{name}`) of {kernel} belongs to another device ({got}) than the shader ({expected})",
    why="memory of one device means nothing to another, even of the same kind",
    help="create the buffer from the device that the shader was compiled for",
)
ARGUMENT_ELEMENT = Code(
    632,
    "argument {index} (`{name}`) of {kernel} holds {got}, expected {expected}",
    why="the element type was fixed when the kernel was captured",
    help="pass a buffer of {expected}, or reinterpret the view with `as_type`",
)
ARGUMENT_FOOTPRINT = Code(
    633,
    "argument {index} (`{name}`) of {kernel} has {got} bytes, expected at least {expected}",
    why="the shape {shape} was fixed when the kernel was captured, and all of it must be there",
    help="pass a view of at least {expected} bytes",
)
ARGUMENT_OVERLAP = Code(
    634,
    "arguments {first_index} (`{first}`, bytes {first_range}) and {second_index} (`{second}`, bytes {second_range}) "
    "of {kernel} overlap in {what}, and {written} is written",
    why="this shader was compiled on the promise that what it writes overlaps no other argument",
    help="pass disjoint views, or copy one of them",
)
NOT_DISPATCHABLE = Code(
    635,
    "{kernel} was compiled for the device {device}, which runs nothing",
    why="the null device compiles without running: its shaders have code and metadata only",
    help='create a device that runs, such as `create_device("simd")`',
)
OUT_OF_MEMORY = Code(
    636,
    "{device} cannot give a buffer of {size_bytes} bytes",
    why="the memory of the device is used up, or smaller than this one buffer",
    help="close buffers that are no longer used, or work on smaller parts",
)
SCALAR_KIND = Code(
    637,
    "argument {index} (`{name}`) of {kernel} is {got}, and it takes {expected}",
    why="this parameter is a number, passed by value",
    help="pass a number of Python or NumPy",
)
SCALAR_VALUE = Code(
    638,
    "argument {index} (`{name}`) of {kernel} is {got}, which {expected} does not hold",
    why="a number keeps its value: an int stands for a float only when it is exact, a float for no integer, and a bool "
    "only for a boolean",
    help="convert it yourself, for example with int(x), float(x) or bool(x)",
)

ARRAY_KIND = Code(
    640,
    "argument {index} (`{name}`) of {kernel} is {got}, not a NumPy array",
    why="the interpreter works on NumPy arrays in place",
    help="pass a NumPy array, or `np.from_dlpack(x)` of something that shares its memory",
)
ARRAY_ELEMENT = Code(
    641,
    "argument {index} (`{name}`) of {kernel} holds {got}, expected {expected}",
    why="the element type was fixed when the kernel was captured, and nothing is converted behind the caller's back",
    help="convert the array to {expected} yourself",
)
ARRAY_SHAPE = Code(
    642,
    "argument {index} (`{name}`) of {kernel} has shape {got}, expected {expected}",
    why="shapes are fixed when the kernel is captured",
    help="pass an array of shape {expected}, or capture the kernel for this one",
)
ARRAY_READ_ONLY = Code(
    643,
    "argument {index} (`{name}`) of {kernel} cannot be written",
    why="the parameter is a mutable view, and results are written in place",
    help="pass a writable array, or annotate the parameter as a const view",
)
ARRAY_FOLDED = Code(
    644,
    "argument {index} (`{name}`) of {kernel} has strides {strides}, so several elements share one cell",
    why="a store to one element would change another",
    help="pass an array whose elements are distinct in memory; only const views may repeat them",
)

CALL_ARGUMENTS = Code(
    650,
    "{kernel} cannot be called like this: {problem}",
    why="a call takes one array for each view, one number for each scalar, and the host configuration by keyword",
    help="call it as in {usage}",
)
NO_ARRAY = Code(
    651,
    "argument {index} (`{name}`) of {kernel} is {got}, which gives no array: {reason}",
    why="a kernel works on the caller's memory in place, and nothing is converted behind the caller's back",
    help="pass a NumPy array, a CPU tensor, or anything else with DLPack",
)
ARRAY_DEVICE = Code(
    652,
    "argument {index} (`{name}`) of {kernel} is on {got}, and a direct call runs on {expected}",
    why="a direct call takes memory that the CPU can address, and nothing is copied between devices",
    help="copy it to the CPU yourself",
)
ARRAY_STRIDES = Code(
    653,
    "argument {index} (`{name}`) of {kernel} has strides of {strides} bytes, which a view of {dtype} cannot have",
    why="the strides of a view count whole elements of {itemsize} bytes, and none of them is negative",
    help="pass a copy in plain order, as in numpy.ascontiguousarray(x)",
)
ARRAY_ALIGNMENT = Code(
    654,
    "argument {index} (`{name}`) of {kernel} begins at an address that is no multiple of {itemsize}",
    why="elements of {dtype} are read and written whole, at multiples of their size",
    help="pass an array that begins at an element boundary, for example a copy",
)
NOT_CALLED_YET = Code(
    655,
    "{kernel} has not been called, so there is nothing to explain",
    why="a kernel is compiled for the shapes of its arguments, and no call has given any",
    help="pass the arrays, as in {usage}",
)
