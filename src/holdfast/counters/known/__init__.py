"""Which counters there are."""
