"""The calls about one feed, and what their verdicts mean."""
