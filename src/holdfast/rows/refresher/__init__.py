"""Whoever keeps the rows fresh."""
