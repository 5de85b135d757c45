"""`holdfast demo traffic`: page hits, and players who look for their guild mates."""
