"""The logs demos: files that consumers keep, lines that consumers count."""
