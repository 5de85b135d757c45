"""Counts that are collected here and added to the server's counters once in a while."""
