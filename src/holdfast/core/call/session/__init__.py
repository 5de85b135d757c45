"""What calls of one process share."""
