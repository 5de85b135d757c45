"""Names by their beginning, beside the textbook's two ways and plain `ZRANGE … BYLEX`.

`parts.py` lists the tables, one module each; `textbook.py` is what everybody builds first.
"""
