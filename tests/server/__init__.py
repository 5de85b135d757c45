"""The embedded server: real servers, really killed."""
