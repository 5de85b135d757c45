"""The fault bench: real servers, a faulty network, killed processes, and checkers."""
