"""The rows of a cache on the server: every call to it."""
