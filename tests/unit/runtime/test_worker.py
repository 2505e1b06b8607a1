"""Tasks end once: run or abandoned, and then released."""

from dataclasses import dataclass

import pytest

from tilewright.core.errors import DispatchError
from tilewright.runtime.capability import Capability
from tilewright.runtime.command import Command, FencedTask
from tilewright.runtime.fence import Fence
from tilewright.runtime.monitor import Monitor
from tilewright.runtime.worker import Worker


@dataclass(slots=True, eq=False)
class Failing(Command):
    needs = Capability.CALLBACK

    def describe(self) -> str:
        return "a failing command"

    def execute(self) -> None:
        raise SystemExit(3)


def test_a_task_that_fails_does_not_give_its_signal() -> None:
    monitor = Monitor()
    worker, fence = Worker(monitor, "stream 1"), Fence(monitor)
    with monitor.lock:
        worker.submit([FencedTask(Failing(()), signals=fence)])
    with pytest.raises(DispatchError, match="SystemExit: 3"):
        worker.synchronize()
    worker.finish()
    assert (fence.done, fence.given) == (True, False)
    with pytest.raises(DispatchError, match="TW623"):
        fence.require_given(())
