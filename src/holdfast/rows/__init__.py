"""Row caches: cache rows of a database, and refresh each row with its own period.

The idea is from "Redis in Action" (Carlson, 2013, section 2.4). A cache has shards; all keys
of a shard are in one slot of a cluster. A process that loads rows holds a lease of these rows until
it has stored them.
"""
