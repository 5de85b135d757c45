"""The clients: connect, keep one namespace, make the blocks. The only importer of blocks.

Each factory imports its block, so that a program loads only those it uses. It does so by absolute
name, which is found three times as fast as a relative one, and that at each call.
"""
