"""What a client tells others, in traces and in numbers."""
