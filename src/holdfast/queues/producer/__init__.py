"""The producer: puts tasks in line."""
