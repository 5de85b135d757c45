"""What a client opens when it begins, and closes when it ends."""
