"""How counts get into a tally, each once."""
