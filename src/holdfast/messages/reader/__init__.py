"""Reading: what a reader remembers and how it waits."""
