"""Fault injection: real servers, a faulty network, killed processes, and checkers."""
