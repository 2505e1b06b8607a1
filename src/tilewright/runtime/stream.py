"""Streams: commands in order, one thread each."""

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self, cast

from tilewright.core.codes.dispatch import NOT_A_COMMAND, OTHER_DEVICE, STREAM_LACKS, USE_AFTER_CLOSE
from tilewright.core.errors import DispatchError
from tilewright.core.source import user_span

from .capability import CAPABILITIES, StreamTag
from .command import Command, Task
from .commandlist import CommandList
from .context import DeviceContext
from .fence import StagedFences
from .worker import CommandQueue, Worker, refuse_blocking

__all__ = ["Stream", "Synchronize", "synchronize"]


@dataclass(frozen=True, slots=True)
class Synchronize:
    """What `stream << synchronize()` means."""


_SYNCHRONIZE = Synchronize()


def synchronize() -> Synchronize:
    """What ends a chain of `<<`: the stream waits, as its method of this name does."""
    return _SYNCHRONIZE


class Stream:
    """An ordered line of commands with a thread of its own, which starts with the first command that needs it.

    `stream << command` enqueues at once and returns the stream; a short launch that nothing is before has then run
    already (see `inline`). Several Python threads may use one stream; a command
    list is never mixed with the commands of others. Streams run at the same time: what two of them share is ordered
    by events.

    **Errors.** What is wrong with a command is raised where it is made or enqueued. When a running command fails, the
    stream keeps the error and runs nothing more: everything enqueued up to the next `synchronize` is dropped. That
    `synchronize` raises the error, once, and the stream is usable again.

    Made by `Device.create_stream`. Dropping the last reference leaves the pending commands to finish by themselves, as
    does the end of the program.
    """

    def __init__(self, context: DeviceContext, tag: StreamTag) -> None:
        number = next(context.stream_numbers)
        self.context = context
        self.tag = tag
        self.label = f"stream {number}"
        self._queue: CommandQueue = context.layer.queue(Worker(context.monitor, self.label), number)
        self._closed = False
        self._plain: set[type] = set()  # kinds of commands without fences that it takes
        weakref.finalize(self, self._queue.finish)

    def __repr__(self) -> str:
        return f"<{'closed ' * self._closed}{self.tag.value} {self.label} on {self.context.label}>"

    @property
    def closed(self) -> bool:
        return self._closed

    def __lshift__(self, item: Command | CommandList | Synchronize) -> "Stream":
        """Enqueues a command or a command list, or waits. Nothing is enqueued when it raises.

        Raises DispatchError: TW602 closed (the stream or what the command uses), TW617 made by another device, TW618
        not a command, TW619 not for a stream of this tag, TW620 list already committed, TW621 wait without signal,
        TW622 signal value that does not grow, TW628 unordered use of the same bytes by another stream (validation).
        """
        if type(item) in self._plain and not self._closed:
            self._enqueue_plain(item)  # pyright: ignore[reportArgumentType]  such a kind is one of commands
        elif isinstance(item, Synchronize):
            self.synchronize()
        elif isinstance(item, CommandList):
            self._enqueue(item.take())
            item.spend()
        elif isinstance(cast("object", item), Command):
            self._enqueue((item,))
        else:
            raise DispatchError(NOT_A_COMMAND.at(user_span(), type=type(item).__name__, where="a stream"))
        return self

    def synchronize(self) -> None:
        """Waits for everything enqueued so far.

        Raises the first error of a command since the last one that was raised; DispatchError TW602 closed, TW626 in a
        host callback. An interrupt (Ctrl-C) ends the waiting and nothing else.
        """
        self._require_open()
        refuse_blocking(self.label)
        self._queue.synchronize()

    def close(self) -> None:
        """Synchronizes, raising what `synchronize` raises, and ends the thread. Harmless when repeated."""
        if self._closed:
            return
        try:
            self.synchronize()
        finally:
            self._closed = True
            self._queue.finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # An error on its way out must not be replaced by one of a pending command.
        if error is None:
            self.close()
        else:
            self._closed = True
            self._queue.finish()

    def _enqueue_plain(self, command: Command) -> None:
        """As `_enqueue` of one command of a kind that was admitted before."""
        context = self.context
        with context.monitor.lock:
            if not command.is_ready(context):
                self._admit(command)
                command.require_open()
            self._queue.submit((command,))

    def _enqueue(self, commands: Sequence[Command]) -> None:
        self._require_open()
        fenced = False
        for command in commands:
            self._admit(command)
            fenced = fenced or command.fenced
        if not commands:
            return
        with self.context.monitor.lock:
            if fenced:
                self._submit_with_fences(commands)
            else:
                self._submit(commands, commands)

    def _submit_with_fences(self, commands: Sequence[Command]) -> None:
        fences = StagedFences()
        self._submit(commands, [command.task(fences) for command in commands])
        fences.publish()

    def _submit(self, commands: Sequence[Command], tasks: Sequence[Task]) -> None:
        for command in commands:
            if not command.is_ready(self.context):
                command.require_open()
        self._queue.submit(tasks)

    def _admit(self, command: Command) -> None:
        if command.needs not in CAPABILITIES[self.tag]:
            raise DispatchError(STREAM_LACKS.at(user_span(), tag=self.tag.value, command=command.describe()))
        if not command.fenced:
            self._plain.add(type(command))
        context = command.context
        if context is not self.context and context is not None:
            raise DispatchError(
                OTHER_DEVICE.at(
                    user_span(),
                    what=command.describe(),
                    got=context.label,
                    owner=self.label,
                    expected=self.context.label,
                )
            )

    def _require_open(self) -> None:
        if self._closed:
            raise DispatchError(USE_AFTER_CLOSE.at(user_span(), what=self.label))
