"""Near caches: values in the memory of the process, which the server invalidates."""
