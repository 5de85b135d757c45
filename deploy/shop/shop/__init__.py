"""A small shop: what a deployment runs."""
