"""Test files that take long: they kill, wait for leases, or start browsers, databases and programs.

`make test` leaves them out, and `make test-slow` runs them alone; a plain `pytest` runs all files.
What is left out is not even imported: collecting takes each test process some seconds.
"""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent

SLOW_FOLDERS = {"demo", "faults", "gallery", "with_sentry"}
"""Names of folders, at any depth."""

SLOW_FILES = {
    "cache/test_slow_loads",
    "cache/test_stampede",
    "cli/test_bench",
    "cli/test_chat",
    "cli/test_group_pages",
    "cli/test_import_target",
    "cli/test_locks_run",
    "cli/test_log_files",
    "cli/test_processes",
    "cli/test_reload",
    "cli/test_serve",
    "cli/test_serve_safely",
    "cli/test_terminal",
    "cli/test_top",
    "cli/test_worker_pages",
    "cli/test_worker_start",
    "client/test_damaged_values",
    "client/test_damages",
    "client/test_hostile_tenant",
    "client/test_interrupted",
    "client/test_rights_of_many",
    "client/test_secrets",
    "core/test_cluster",
    "core/test_durability",
    "core/test_interrupted_connection",
    "core/test_near_cache",
    "core/test_renewer",
    "core/test_watchdog",
    "counters/test_definition",
    "files/test_attempts",
    "files/test_budget",
    "limits/test_fairness",
    "locks/test_ownership",
    "locks/test_waiting",
    "messages/test_model",
    "messages/test_waiting",
    "outbox/test_killed",
    "outbox/test_outbox",
    "queues/groups/test_group_kills",
    "queues/groups/test_relay_kills",
    "queues/model/test_model",
    "queues/partitions/test_changes_under_load",
    "queues/schedule/test_times",
    "queues/test_cpu_programs",
    "queues/test_cpu_tasks",
    "queues/test_damaged_lines",
    "queues/test_slots",
    "queues/test_step_examples",
    "queues/test_stop",
    "queues/test_stubborn_tasks",
    "queues/test_weights",
    "queues/test_worker_log",
    "rows/test_misses",
    "rows/test_outages",
    "server/test_crashes",
    "server/test_open",
    "server/test_pinning",
    "tallies/test_bad_mmdb",
    "tallies/test_commit",
    "tallies/test_geo_counter",
    "tallies/test_geo_table",
    "tallies/test_rotation",
    "telemetry/test_absent",
    "testing/test_plugin",
    "web/dashboard/test_accessibility",
    "web/dashboard/test_browser",
    "web/dashboard/test_displayed_names",
    "web/dashboard/test_held_updates",
    "web/dashboard/test_links",
    "web/dashboard/test_screens",
    "web/gateway/test_chat_page",
    "web/gateway/test_chat_page_sending",
    "web/gateway/test_connections",
    "web/gateway/test_costs",
    "web/gateway/test_task_events",
    "web/test_revocation",
    "web_apps/test_idempotency_keys",
}
"""Files, without `_async`: all of one take more than about ten seconds on two busy cores.

A file that shows how a block works is not among them, however long it takes.
"""


def is_slow(path: Path) -> bool:
    """Return whether `make test` leaves out the tests of this file."""
    place = path.relative_to(TESTS).with_suffix("")
    name = str(place).removesuffix("_async").removesuffix("_sync")
    return name in SLOW_FILES or not SLOW_FOLDERS.isdisjoint(place.parts[:-1])


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--slow`."""
    parser.addoption(
        "--slow",
        choices=["no", "only"],
        help="leave out the files that take long, or run only those; by default all run",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what `--slow` does not ask for."""
    choice = config.getoption("--slow")
    if not choice or not collection_path.match("test_*.py"):
        return None
    return True if is_slow(collection_path) == (choice == "no") else None
