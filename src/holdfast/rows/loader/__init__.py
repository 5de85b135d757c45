"""Loading rows from their source."""
