"""The blocks for logs: files and tallies."""
