"""Tables of places: which network is where. They need the extra `geo`."""
