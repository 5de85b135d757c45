"""A client whose tasks run as soon as they are enqueued."""
