"""The way of one kind of call to one server."""
