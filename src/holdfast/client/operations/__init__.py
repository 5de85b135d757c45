"""What operators ask of a client: which workers there are, and how its servers are."""
