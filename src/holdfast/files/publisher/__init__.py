"""Publishing: a file becomes chunks, sent as the budget allows."""
