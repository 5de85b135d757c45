"""Feeds: files, of any size, sent through the server to many consumers, every byte in order."""
