"""The catalog: which units of a kind exist. A hint for listings, repaired on reading."""
