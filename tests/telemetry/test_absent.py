"""Without the packages, clients work; asking for telemetry names the package to install."""

import secrets
import subprocess
import sys

import pytest

from faults.servers import Server

BLOCKED = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("opentelemetry", "prometheus_client"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""

USED = """
from holdfast import *
from holdfast import Holdfast, TaskRegistry, TraceContext, use_trace
tasks = TaskRegistry()

@tasks.task(queue="email")
def send(to: str) -> None: ...

trace = TraceContext("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
with Holdfast.from_url(sys.argv[1], namespace=sys.argv[2]) as hf:
    with use_trace(trace):
        hf.enqueue(send.call("jack"))
        hf.mailbox("jack").send("hi", sender="jill")
    hf.worker(tasks).run(until_idle=True)
    [message] = hf.mailbox("jack").fetch().messages
    assert message.trace == trace
    with hf.lock("l").hold():
        pass
"""

WANTED = """
import holdfast
for name, extra in {"OpenTelemetry": "otel", "PrometheusMetrics": "prometheus"}.items():
    try:
        getattr(holdfast, name)()
    except ModuleNotFoundError as error:
        assert f"install `holdfast[{extra}]`" in str(error), error
    else:
        raise AssertionError(name)
"""

NOT_IMPORTED = """
ours = {"holdfast.telemetry.spans", "holdfast.telemetry.meters"}
assert not sys.modules.keys() & {*ours, "prometheus_client"}
"""


@pytest.mark.parametrize(
    "script",
    [BLOCKED + USED + WANTED, "import sys\n" + USED + NOT_IMPORTED],
    ids=["absent", "unused"],
)
def test_the_packages_are_imported_only_on_request(standalone: Server, script: str) -> None:
    result = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-c",
            script,
            standalone.url,
            f"absent-{secrets.token_hex(4)}",
        ],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert result.returncode == 0, result.stderr
