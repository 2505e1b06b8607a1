"""Command lists: several commands enqueued as one."""

from typing import cast

from tilewright.core.codes.dispatch import LIST_SPENT, NOT_A_COMMAND
from tilewright.core.errors import DispatchError
from tilewright.core.source import user_span

from .command import Command

__all__ = ["CommandList"]


class CommandList:
    """Commands in order, enqueued by `stream << commands`: all of them, or none when one is refused.

    A list is committed once; an empty one is a no-op. The commands themselves may be used again.
    """

    def __init__(self) -> None:
        self._commands: list[Command] = []
        self._spent = False

    def __len__(self) -> int:
        return len(self._commands)

    @property
    def committed(self) -> bool:
        return self._spent

    def append(self, command: Command) -> "CommandList":
        """Adds a command and returns the list.

        Raises DispatchError: TW618 not a command (synchronizing is the stream's, not a list's), TW620 committed.
        """
        given = cast("object", command)
        if not isinstance(given, Command):
            raise DispatchError(NOT_A_COMMAND.at(user_span(), type=type(given).__name__, where="a command list"))
        self.require_open()
        self._commands.append(given)
        return self

    def __lshift__(self, command: Command) -> "CommandList":
        """The same as `append`."""
        return self.append(command)

    def clear(self) -> None:
        """Removes all commands. Raises DispatchError (TW620) when committed."""
        self.require_open()
        self._commands.clear()

    def require_open(self) -> None:
        """Raises DispatchError (TW620) when committed."""
        if self._spent:
            raise DispatchError(LIST_SPENT.at(user_span()))

    def take(self) -> tuple[Command, ...]:
        """The commands, for a stream that is about to enqueue them. Raises DispatchError (TW620) when committed."""
        self.require_open()
        return tuple(self._commands)

    def spend(self) -> None:
        """Marks the list as committed and lets go of the commands."""
        self._spent = True
        self._commands.clear()
