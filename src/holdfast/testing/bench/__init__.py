"""The tasks of a test: what is in line, and having it done."""
