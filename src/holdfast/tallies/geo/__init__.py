"""Tables that map IP addresses to locations; they need the extra `geo`."""
