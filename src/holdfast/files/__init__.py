"""File feeds: files of any size, sent in chunks from publishers to consumers."""
