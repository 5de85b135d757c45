"""The bytes of one connection."""
