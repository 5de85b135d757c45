"""Work that is repeated beside the caller."""
