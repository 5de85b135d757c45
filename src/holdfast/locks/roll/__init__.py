"""Which locks and semaphores are in use."""
