"""What every block stands on: names, scripts, calls, connections, ledger, bell, renewer."""
