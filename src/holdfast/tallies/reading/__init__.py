"""Reads files and commits what is in them."""
