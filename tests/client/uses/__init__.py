"""What applications do with each block, for tests that watch what the server is asked."""
