"""Lists the workers of a namespace."""
