"""A program that enqueues a task within a request, and prints the trace: `producing URL NAMESPACE`.

With `work` behind it, it is the worker, and prints the spans that it recorded.
"""

import json
import sys

from holdfast import Holdfast, TaskRegistry, current_task, current_trace
from telemetry.recording import Recording, parent_of, span_id, trace_of

tasks = TaskRegistry()


@tasks.task(queue="orders")
def order(count: int) -> None:
    """Enqueues another one, which is part of the same trace."""
    if count:
        hf.enqueue(order.call(count - 1))
    trace = current_trace()
    say({"task": current_task().task, "trace": trace and trace.trace_id})


def say(what: dict[str, object]) -> None:
    """Print one line in a single write, because tasks run concurrently."""
    sys.stdout.write(json.dumps(what) + "\n")


recording = Recording()
telemetry = recording.telemetry if "plain" not in sys.argv else None
with Holdfast.from_url(sys.argv[1], namespace=sys.argv[2], telemetry=telemetry) as hf:
    if "work" in sys.argv:
        hf.worker(tasks, concurrency=2).run(until_idle=True)
    else:
        with recording.tracer.start_as_current_span("request"):
            hf.enqueue(order.call(1))
for span in recording.spans:
    context = {"trace": trace_of(span), "id": span_id(span), "parent": parent_of(span)}
    say({"span": span.name, **context})
