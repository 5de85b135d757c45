"""One acquisition: from the wish for a place to a lease, or to nothing."""
