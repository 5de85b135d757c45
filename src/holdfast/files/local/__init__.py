"""Files of this machine, read like those of a feed."""
