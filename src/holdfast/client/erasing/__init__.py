"""Removes all of a namespace."""
