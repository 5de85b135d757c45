"""Crawlers that share a semaphore: at most three downloads at once from one host."""
