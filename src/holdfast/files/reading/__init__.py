"""Reading one file of a feed."""
