"""How messages leave: alone, or with others that are sent to the same chat at the same moment."""
