"""Consumers: who gets which file."""
