"""Counters in seven precisions, beside the textbook's.

`parts.py` lists the tables, one module each; `textbook.py` is what everybody builds first.
"""
