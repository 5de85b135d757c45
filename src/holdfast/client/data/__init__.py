"""Autocomplete, counters and row caches of a client."""
