"""Tallies: lines of logs counted per day and dimension, each exactly once, whoever is killed."""
