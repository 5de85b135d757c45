"""What an operation costs the server, however much is stored and however many servers there are."""
