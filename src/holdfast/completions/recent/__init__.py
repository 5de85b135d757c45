"""The names that somebody used lately."""
