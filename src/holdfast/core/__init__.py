"""Provide what all blocks share: names, scripts, calls, connections, ledger, notifier, renewer."""
