"""Traces and metrics of a client."""
