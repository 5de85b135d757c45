"""The chat."""
