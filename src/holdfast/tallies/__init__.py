"""Tallies: count log lines per day and dimension, each line exactly once."""
