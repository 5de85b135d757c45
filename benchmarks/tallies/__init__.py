"""Tallies beside the textbook's loop, and beside Polars and DuckDB that count without promises.

`parts.py` lists the tables, `sample.py` makes the table of places and the log.
"""
