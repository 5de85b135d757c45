"""What is wrong, or may go wrong, with the servers behind a client."""
