"""Time-series counters: how often something happened, per second, minute, hour and day."""
