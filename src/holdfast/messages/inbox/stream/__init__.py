"""A stream of what comes into an inbox."""
