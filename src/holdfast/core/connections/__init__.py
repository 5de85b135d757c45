"""Connections of our own, opened like those of the user's client but with retries off."""
