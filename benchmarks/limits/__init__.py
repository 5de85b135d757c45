"""Rate limiters, beside `limits` (the core of slowapi), `pyrate-limiter` and scripts by hand."""
