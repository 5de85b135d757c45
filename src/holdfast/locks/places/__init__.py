"""Takes places and gives them back: the protocol of one unit."""
