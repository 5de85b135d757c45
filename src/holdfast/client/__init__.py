"""The clients: connect, keep one namespace, make the blocks. The only importer of blocks."""
