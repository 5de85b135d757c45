"""Feeds beside plain `SET` and `GET`.

`parts.py` lists the tables, one module each.
"""
