"""Benchmarks: what Holdfast costs, beside what it promises and what others cost.

`python -m benchmarks [NAMES…]`; README.md says how to read the numbers. `harness.py` measures,
`server.py` is the server that is measured against, `report.py` prints; every other module is one
benchmark.
"""
