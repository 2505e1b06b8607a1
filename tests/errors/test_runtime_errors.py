"""The text of every error of the runtime."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.errors.harness import check_case, check_golden
from tests.unit.runtime import fakes
from tilewright import runtime
from tilewright.core import dtypes
from tilewright.core.abi import Usage

SETUP = """\
device = runtime.Device(fakes.FakeDevice())
stream = device.create_stream()
buffer = device.create_buffer(f32, 1024)
host = np.zeros(1024, np.float32)

"""

CASES = {
    "TW401": "device.create_tile_kernel(object(), None)",
    "TW601": "runtime.create_device('cpu')",
    "TW602": "buffer.close()\nbuffer[0:4]",
    "TW603": """\
gate = fakes.Gate()
stream << runtime.host_callback(gate.wait) << buffer.copy_from(host)
try:
    buffer.close()
finally:
    gate.open()
""",
    "TW604": "device.create_buffer(f32, -4)",
    "TW605": "device.create_buffer(float, 4)",
    "TW606": "buffer.view(1000, 25)",
    "TW607": "buffer[::2]",
    "TW608": "buffer[1:4].as_type(f64)",
    "TW609": "buffer.copy_from([0.0] * 1024)",
    "TW610": "buffer.copy_from(np.zeros(1024))",
    "TW611": "buffer.copy_from(host[:1000])",
    "TW612": "buffer.copy_from(host.reshape(32, 32).T)",
    "TW613": "host.flags.writeable = False\nbuffer.copy_to(host)",
    "TW614": "buffer[:4].copy_from(buffer[4:9])",
    "TW615": "buffer[:4].copy_from(buffer[4:8].as_type(i32))",
    "TW616": "buffer[:4].copy_from(buffer[2:6])",
    "TW617": "other = runtime.Device(fakes.FakeDevice())\nother.create_stream() << buffer.copy_from(host)",
    "TW618": "stream << (lambda: None)",
    "TW619": """\
shader = fakes.make_shader(device)
device.create_stream(runtime.StreamTag.COPY) << shader().dispatch()
""",
    "TW620": "commands = runtime.CommandList()\nstream << commands\nstream << commands",
    "TW621": "event = device.create_event()\nstream << event.wait()",
    "TW622": "timeline = device.create_timeline()\nstream << timeline.signal(4)\nstream << timeline.signal(3)",
    "TW623": """\
event = device.create_event()
other = device.create_stream()
stream << runtime.host_callback(lambda: 1 / 0) << event.signal()
other << event.wait()
try:
    other.synchronize()
finally:
    fakes.synchronizing(stream).join()
""",
    "TW624": "stream << runtime.host_callback(lambda: 1 / 0)\nstream.synchronize()",
    "TW626": "stream << runtime.host_callback(stream.synchronize)\nstream.synchronize()",
    "TW628": """\
other = device.create_stream()
stream << buffer[:512].copy_from(host[:512])
other << buffer[256:768].copy_to(host[256:768])
""",
    "TW629": "shader = fakes.make_shader(device, x, y)\nshader(buffer)",
    "TW630": "shader = fakes.make_shader(device, x)\nshader(host)",
    "TW631": "shader = fakes.make_shader(runtime.Device(fakes.FakeDevice()), x)\nshader(buffer)",
    "TW632": "shader = fakes.make_shader(device, x)\nshader(buffer.view().as_type(i32))",
    "TW633": "shader = fakes.make_shader(device, x)\nshader(buffer[:4])",
    "TW634": "shader = fakes.make_shader(device, x, y, disjoint_writes=True)\nshader(buffer[:8], buffer[4:])",
    "TW635": "fakes.null_shader(device)().dispatch().execute()",
    "TW636": "device.create_buffer(f32, 1 << 60)",
    "TW903": "device.context.interface.upload(buffer.native, 4090, memoryview(b'too long'))",
}


@pytest.mark.parametrize("code", CASES)
def test_the_text_of(code: str, tmp_path: Path) -> None:
    x, y = fakes.argument("x", 8, Usage.READ), fakes.argument("y", 8, Usage.WRITE)
    names = {name: getattr(dtypes, name) for name in ("f32", "f64", "i32")}
    check_case(code, SETUP + CASES[code] + "\n", tmp_path, runtime=runtime, fakes=fakes, np=np, x=x, y=y, **names)


BEHIND = (
    SETUP
    + """\
gate = fakes.Gate()
stream << runtime.host_callback(gate.wait) << runtime.host_callback(lambda: 1 / 0)
waiting = fakes.synchronizing(stream)
stream << buffer.copy_from(host) << buffer.copy_to(host)
gate.open()
waiting.join()
stream.synchronize()
"""
)


def test_the_text_of_work_dropped_behind_a_failure(tmp_path: Path) -> None:
    check_case("TW625", BEHIND, tmp_path, runtime=runtime, fakes=fakes, np=np, f32=dtypes.f32)


FORKED = """\
import os
from tests.unit.runtime import fakes
from tilewright import runtime

stream = runtime.Device(fakes.FakeDevice()).create_stream()
gate = fakes.Gate()
stream << runtime.host_callback(gate.wait) << runtime.host_callback(print)
if os.fork():
    os.wait()
    gate.open()
    stream.synchronize()
else:
    try:
        stream.synchronize()
    except Exception as error:
        print(error, flush=True)
        os._exit(0)
"""


def test_the_text_of_work_lost_in_a_fork(tmp_path: Path) -> None:
    (tmp_path / "case.py").write_text(FORKED)
    run = f"import runpy; runpy.run_path({str(tmp_path / 'case.py')!r})"
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, timeout=60, check=True)
    check_golden("TW627", done.stdout.rstrip("\n"))
