"""What is sent first."""
