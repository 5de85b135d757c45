"""Rows of a database, kept fresh in the server, each at its own pace.

The idea is that of the row cache in "Redis in Action" (Carlson, 2013, section 2.4). A cache is cut
into shards, each of them a unit; whoever loads rows of a shard holds a lease of them meanwhile.
"""
