"""Readers who find nothing: one of them loads, the others wait."""
