"""Row caches: rows of a database, kept fresh in the server, each with its own period.

The idea is from "Redis in Action" (Carlson, 2013, section 2.4). A cache consists of shards. Each
shard is a unit. A process that loads rows of a shard holds a lease of these rows meanwhile.
"""
